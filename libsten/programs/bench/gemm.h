// SPDX-License-Identifier: Apache-2.0
// Benchmark of products of a sparse or dense matrix with a dense one.
#pragma once
#include "libsten/programs/bench/bench_options.h"

namespace sten {

// Peak of the cores, and the fastest dense product of this run.
struct DensePeak {
  double peak_gflops = 0;
  std::string library;
  double gflops = 0;
};

// Rows for each form, shape and number of threads: every dense library in float32, the fastest one
// in each lower precision, then the layouts. Ratios are relative to the fastest dense library in
// float32 for the same form, shape and threads, with a warning if it is below 80 % of the peak.
// Notes name variants that are not measured, and the fastest of each kind.
std::vector<BenchRow> bench_gemm(const BenchOptions& options, DensePeak& best,
                                 std::vector<std::string>& notes);

// The same for a small dense product on `threads` threads, for runs that measure no products.
DensePeak measure_dense_peak(int threads);

}  // namespace sten
