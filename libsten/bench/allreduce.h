// Times of sums over ranks.
#pragma once
#include "libsten/bench/bench.h"

namespace sten {

// Rows for each BERT: sums over the ranks of gradients of its encoder's weights, "dense" and in each
// layout, with how long their packing alone takes. Ratios are those to dense. Of one rank nothing
// travels.
std::vector<BenchRow> bench_allreduce(const BenchOptions& options);

}  // namespace sten
