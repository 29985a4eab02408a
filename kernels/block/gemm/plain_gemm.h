// SPDX-License-Identifier: Apache-2.0
// Dense products as plain loops: the CPU form of GemmFunctions::dense.
#pragma once
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/block/gemm_functions.h"

namespace sten::kernels {

// Rounds to nearest, ties to even, without the `bits` lowest bits.
inline float without_bits(float x, int bits) {
  if (!std::isfinite(x)) return x;
  const auto all = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t up = (1u << (bits - 1)) - 1 + (all >> bits & 1);
  return std::bit_cast<float>((all + up) >> bits << bits);
}
inline std::vector<float> without_bits(const float* x, std::int64_t rows, std::int64_t cols,
                                       std::int64_t ld, int bits) {
  std::vector<float> y;
  y.reserve(static_cast<std::size_t>(rows * cols));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) y.push_back(without_bits(x[i * ld + j], bits));
  return y;
}

inline void plain_dense_product(const GemmOperands& x, Stream stream);

// Product of factors that are rounded in copies.
inline void plain_rounded_product(const GemmOperands& x, Stream stream) {
  const int bits = x.factors == Factors::tf32 ? 13 : 16;
  const auto [a_rows, a_cols] = x.transpose_a ? std::pair(x.k, x.m) : std::pair(x.m, x.k);
  const auto [b_rows, b_cols] = x.transpose_b ? std::pair(x.n, x.k) : std::pair(x.k, x.n);
  GemmOperands one = x;
  one.batch = 1;
  one.factors = Factors::float32;
  one.lda = a_cols;
  one.ldb = b_cols;
  for (std::int64_t i = 0; i < x.batch; ++i) {
    const auto a = without_bits(x.a + i * x.a_step, a_rows, a_cols, x.lda, bits);
    const auto b = without_bits(x.b + i * x.b_step, b_rows, b_cols, x.ldb, bits);
    one.a = a.data();
    one.b = b.data();
    one.c = x.c + i * x.c_step;
    plain_dense_product(one, stream);
  }
}

// The product of GemmFunctions::dense on host memory. Sums are double, in the order of k.
inline void plain_dense_product(const GemmOperands& x, Stream stream) {
  if (x.m == 0 || x.n == 0) return;
  if (x.factors != Factors::float32) return plain_rounded_product(x, stream);
  std::vector<double> sums(static_cast<std::size_t>(x.n));
  for (std::int64_t i = 0; i < x.batch; ++i)
    for (std::int64_t r = 0; r < x.m; ++r) {
      sums.assign(sums.size(), 0.0);
      for (std::int64_t p = 0; p < x.k; ++p) {
        const double a = x.a[i * x.a_step + (x.transpose_a ? p * x.lda + r : r * x.lda + p)];
        const float* b = x.b + i * x.b_step + (x.transpose_b ? p : p * x.ldb);
        const std::int64_t step = x.transpose_b ? x.ldb : 1;
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
