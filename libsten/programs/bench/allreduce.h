// SPDX-License-Identifier: Apache-2.0
// Benchmark of all-reduces.
#pragma once
#include "libsten/programs/bench/bench_options.h"

namespace sten {

// Rows for each BERT: sums over ranks of gradients of the encoder's weights, "dense" and in each
// layout, with the time of packing alone. Ratios are relative to dense. A single rank sends
// nothing.
std::vector<BenchRow> bench_allreduce(const BenchOptions& options);

}  // namespace sten
