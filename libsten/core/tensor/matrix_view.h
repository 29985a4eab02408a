// SPDX-License-Identifier: Apache-2.0
// Matrix view: a tensor of rank 2 or more as a batch of matrices.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "libsten/core/base/shape.h"
#include "libsten/core/base/spec.h"

namespace sten {

// The parameter dims=row.col of a spec. Default: rows are dimension 0, columns all others.
struct Dims {
  Index row = -1, col = -1;
  bool given() const { return row >= 0; }
  // Parses "1.2". Error (usage).
  static Dims parse(std::string_view text);
  std::string str() const;
};

// The dims= of a spec; not given() if it has none. Error (usage).
Dims dims_of(const Spec& spec);

// Element (b, r, c) has the dense offset batch_offset(b) + r * row_stride + c * col_stride.
struct MatrixView {
  Shape batch;  // dimensions that dims does not name, in order; the leading axes of every part
  std::vector<Index> batch_strides;
  Index batches = 1;  // product of `batch`
  Index rows = 0, cols = 0;
  Index row_stride = 0, col_stride = 0;

  // Error if the rank is below 2 or dims do not fit. `transposed` exchanges rows and columns.
  static MatrixView of(const Shape& shape, Dims dims = {}, bool transposed = false);
  Index batch_offset(Index b) const;
  // Dense offset of column 0 of row l, 0 <= l < batches * rows.
  Index row_offset(Index l) const { return batch_offset(l / rows) + l % rows * row_stride; }
  // Row (of batches * rows) and column of a dense offset.
  std::pair<Index, Index> place(Index offset) const;
  // Shape of a part: `batch` followed by `rest`.
  Shape part(std::initializer_list<Index> rest) const;
};

}  // namespace sten
