// SPDX-License-Identifier: Apache-2.0
// Matrices of calibrated pruning: float32, or float64 for F64 weights.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/dense.h"
#include "libsten/core/tensor/mask.h"

namespace sten::calibrate {

template <class T>
struct Matrix {
  Index rows = 0, cols = 0;
  std::vector<T> values;  // row-major

  Matrix() = default;
  Matrix(Index r, Index c) : rows(r), cols(c), values(static_cast<std::size_t>(r * c)) {}
  T* row(Index r) { return values.data() + r * cols; }
  const T* row(Index r) const { return values.data() + r * cols; }
};

template <class T>
inline constexpr DType dtype_of = std::is_same_v<T, double> ? DType::F64 : DType::F32;

// An even k such that the largest magnitude times 2^-k is in [1, 4), which keeps sums of products
// within the range of float32; even, so that square roots can be scaled too. 0 for magnitudes
// between 2^-20 and 2^20, and for 0 and non-finite ones.
int scale_exponent(double largest);
int scale_exponent(const Dense& x);

// Converts a tensor, scaled by 2^-exponent. Rank 2 or more: rows are the first dimension, columns
// all others.
template <class T>
Matrix<T> matrix_of(const Dense& w, int exponent = 0);
template <class T>
Matrix<T> transposed(const Matrix<T>& a);
// The inverse: scales by 2^exponent and rounds to nearest.
template <class T>
Dense to_dense(const Matrix<T>& a, DType dtype, const Shape& shape, int exponent = 0);

// Calls f(begin, end) for blocks of rows, in parallel; blocks do not depend on the number of
// threads.
inline constexpr Index row_block = 64;
template <class F>
void for_row_blocks(Index rows, F&& f, Index block = row_block) {
  parallel_for(ceil_div(rows, block), 1, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b) f(b * block, std::min(rows, (b + 1) * block));
  });
}
// Block size for products with one matrix: larger, since each block packs the matrix.
inline Index product_block(Index rows) {
  return std::clamp(ceil_div(rows, 8 * row_block), Index{1}, Index{8}) * row_block;
}

// One byte per element: 1 for kept elements.
using Kept = std::vector<std::uint8_t>;

}  // namespace sten::calibrate
