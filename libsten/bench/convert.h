// Times of conversions from dense.
#pragma once
#include "libsten/bench/bench.h"

namespace sten {

// A row for each shape, input, layout and number of threads. Ratios are those to PaperGreedy, where
// the layout is n:m:g.
std::vector<BenchRow> bench_convert(const BenchOptions& options);

}  // namespace sten
