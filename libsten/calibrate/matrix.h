// Matrices of float32 that pruning a layer computes with.
#pragma once
#include <algorithm>
#include <vector>

#include "libsten/base/parallel.h"
#include "libsten/tensor/dense.h"
#include "libsten/tensor/mask.h"

namespace sten::calibrate {

struct Matrix {
  Index rows = 0, cols = 0;
  std::vector<float> values;  // row-major

  Matrix() = default;
  Matrix(Index r, Index c) : rows(r), cols(c), values(static_cast<std::size_t>(r * c)) {}
  float* row(Index r) { return values.data() + r * cols; }
  const float* row(Index r) const { return values.data() + r * cols; }
};

// Of a tensor of rank 2, or one of more seen as rows of all other dimensions.
Matrix matrix_of(const Dense& w);
Matrix transposed(const Matrix& a);
// As a tensor of that dtype and shape, rounded to nearest.
Dense to_dense(const Matrix& a, DType dtype, const Shape& shape);

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
