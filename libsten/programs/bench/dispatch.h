// SPDX-License-Identifier: Apache-2.0
// Benchmark of the overhead of dispatch and tape.
#pragma once
#include "libsten/programs/bench/bench_options.h"

namespace sten {

// Rows: "call": seconds of a call of an operator that does nothing, with a cached plan; "linear"
// and "taped": a linear layer of M x K over N tokens by linear() on tensors and on a tape. Their
// ratios are relative to the bare product into fresh memory; above 1 is faster.
std::vector<BenchRow> bench_dispatch(const BenchOptions& options);

}  // namespace sten
