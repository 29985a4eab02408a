// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/matrix_view.h"

#include <utility>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {

Dims Dims::parse(std::string_view text) {
  const std::size_t dot = text.find('.');
  Dims d;
  if (dot == std::string_view::npos || !parse_integer(text.substr(0, dot), d.row) ||
      !parse_integer(text.substr(dot + 1), d.col) || d.row < 0 || d.col < 0 || d.row == d.col)
    fail_usage("dims={}: expected two different axes, such as dims=1.2", printable(text));
  return d;
}

std::string Dims::str() const { return fmt::format("{}.{}", row, col); }

Dims dims_of(const Spec& spec) {
  return spec.has("dims") ? Dims::parse(spec.word("dims", "")) : Dims{};
}

MatrixView MatrixView::of(const Shape& shape, Dims dims, bool transposed) {
  const auto rank = static_cast<Index>(shape.size());
  if (rank < 2)
    fail("a tensor of rank {} ({}) has no rows and columns (expected rank >= 2)", rank,
         to_string(shape));
  MatrixView v;
  if (dims.given()) {
    if (dims.row >= rank || dims.col >= rank)
      fail("dims={} is beyond the axes of shape {}", dims.str(), to_string(shape));
    Shape strides(shape.size(), 1);
    for (Index d = rank - 2; d >= 0; --d) strides[d] = strides[d + 1] * shape[d + 1];
    for (Index d = 0; d < rank; ++d) {
      if (d == dims.row || d == dims.col) continue;
      v.batch.push_back(shape[d]);
      v.batch_strides.push_back(strides[d]);
      v.batches *= shape[d];
    }
    v.rows = shape[dims.row];
    v.cols = shape[dims.col];
    v.row_stride = strides[dims.row];
    v.col_stride = strides[dims.col];
  } else {
    v.rows = shape[0];
    v.cols = 1;
    for (Index d = 1; d < rank; ++d) v.cols *= shape[d];
    v.row_stride = v.cols;
    v.col_stride = 1;
  }
  if (transposed) {
    std::swap(v.rows, v.cols);
    std::swap(v.row_stride, v.col_stride);
  }
  return v;
}

Index MatrixView::batch_offset(Index b) const {
  Index offset = 0;
  for (std::size_t d = batch.size(); d-- > 0; b /= batch[d])
    offset += b % batch[d] * batch_strides[d];
  return offset;
}

std::pair<Index, Index> MatrixView::place(Index offset) const {
  // A single matrix needs one division.
  if (batch.empty() && col_stride == 1 && row_stride == cols) return {offset / cols, offset % cols};
  Index b = 0;
  for (std::size_t d = 0; d < batch.size(); ++d)
    b = b * batch[d] + offset / batch_strides[d] % batch[d];
  return {b * rows + offset / row_stride % rows, offset / col_stride % cols};
}

Shape MatrixView::part(std::initializer_list<Index> rest) const {
  Shape s = batch;
  s.insert(s.end(), rest);
  return s;
}

}  // namespace sten
