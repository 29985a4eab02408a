// Matrices that pruning a layer computes with: float32, or float64 for weights of F64.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "libsten/base/parallel.h"
#include "libsten/tensor/dense.h"
#include "libsten/tensor/mask.h"

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

// An even k, so that square roots scale too, such that the largest magnitude times 2^-k is in [1, 4),
// which keeps sums of products within the range of float32; 0 where it is between 2^-20 and 2^20, and
// where it is 0 or not finite.
int scale_exponent(double largest);
int scale_exponent(const Dense& x);

// Of a tensor of rank 2, or one of more seen as rows of all other dimensions, times 2^-exponent.
template <class T>
Matrix<T> matrix_of(const Dense& w, int exponent = 0);
template <class T>
Matrix<T> transposed(const Matrix<T>& a);
// Times 2^exponent, as a tensor of that dtype and shape, rounded to nearest.
template <class T>
Dense to_dense(const Matrix<T>& a, DType dtype, const Shape& shape, int exponent = 0);

// f(begin, end) over rows in blocks that do not depend on threads.
inline constexpr Index row_block = 64;
template <class F>
void for_row_blocks(Index rows, F&& f, Index block = row_block) {
  parallel_for(ceil_div(rows, block), 1, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b) f(b * block, std::min(rows, (b + 1) * block));
  });
}
// Of rows that are multiplied by one matrix: more at a time, because it is packed for each block.
inline Index product_block(Index rows) {
  return std::clamp(ceil_div(rows, 8 * row_block), Index{1}, Index{8}) * row_block;
}

// One byte for each element: 1 stays.
using Kept = std::vector<std::uint8_t>;

}  // namespace sten::calibrate
