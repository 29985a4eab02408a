// Times of products of a sparse or a dense matrix with a dense one.
#pragma once
#include "libsten/bench/bench.h"

namespace sten {

// What the cores do at most, and the fastest dense product that this run saw.
struct DensePeak {
  double peak_gflops = 0;
  std::string library;
  double gflops = 0;
};

// Rows for each form, shape and number of threads: every dense library in float32 and the fastest
// one in each lower precision, then the layouts. Ratios are those to the fastest dense library in
// float32 of the same form, shape and threads. Warns where that is below 80 % of the peak. Notes name
// what is not measured, and the fastest of each.
std::vector<BenchRow> bench_gemm(const BenchOptions& options, DensePeak& best,
                                 std::vector<std::string>& notes);

// The same of a small dense product on `threads` threads, for runs that measure no products.
DensePeak measure_dense_peak(int threads);

}  // namespace sten
