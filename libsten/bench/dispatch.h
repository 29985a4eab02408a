// What the dispatcher and the tape cost.
#pragma once
#include "libsten/bench/bench.h"

namespace sten {

// "call": an operator that does nothing, with a plan that is kept, as seconds of one call. "linear"
// and "taped": a linear layer of M x K over N tokens by linear() on tensors and on a tape, as
// ratios to the bare product into memory that is as new, above 1 is faster.
std::vector<BenchRow> bench_dispatch(const BenchOptions& options);

}  // namespace sten
