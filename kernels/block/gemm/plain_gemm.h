// Plain loops in place of a library's dense products: the CPU form of GemmFunctions::dense.
#pragma once
#include <vector>

#include "kernels/block/gemm_functions.h"

namespace sten::kernels {

// Pointers are to memory of the host. Sums are double, in the order of k.
inline void plain_dense_product(const GemmOperands& x, Stream) {
  if (x.m == 0 || x.n == 0) return;
  std::vector<double> sums(static_cast<std::size_t>(x.n));
  for (std::int64_t i = 0; i < x.batch; ++i)
    for (std::int64_t r = 0; r < x.m; ++r) {
      sums.assign(sums.size(), 0.0);
      for (std::int64_t p = 0; p < x.k; ++p) {
        const double a = x.a[i * x.a_step + (x.turn_a ? p * x.lda + r : r * x.lda + p)];
        const float* b = x.b + i * x.b_step + (x.turn_b ? p : p * x.ldb);
        const std::int64_t step = x.turn_b ? x.ldb : 1;
        for (std::int64_t j = 0; j < x.n; ++j) sums[static_cast<std::size_t>(j)] += a * b[j * step];
      }
      float* c = x.c + i * x.c_step + r * x.ldc;
      for (std::int64_t j = 0; j < x.n; ++j) {
        const double sum = x.alpha * sums[static_cast<std::size_t>(j)];
        c[j] = static_cast<float>(x.beta == 0 ? sum : sum + double{x.beta} * c[j]);
      }
    }
}

}  // namespace sten::kernels
