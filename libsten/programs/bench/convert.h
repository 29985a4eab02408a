// SPDX-License-Identifier: Apache-2.0
// Benchmark of conversions from dense.
#pragma once
#include "libsten/programs/bench/bench_options.h"

namespace sten {

// A row for each shape, input, layout and number of threads. Ratios of n:m:g are relative to
// PaperGreedy.
std::vector<BenchRow> bench_convert(const BenchOptions& options);

}  // namespace sten
