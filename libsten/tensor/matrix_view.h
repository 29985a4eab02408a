// A tensor of rank >= 2 seen as matrices.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "libsten/base/shape.h"
#include "libsten/base/spec.h"

namespace sten {

// dims=row.col of a layout's spec; without it, rows are dimension 0 and columns all others.
struct Dims {
  Index row = -1, col = -1;
  bool given() const { return row >= 0; }
  // "1.2"; Error (usage).
  static Dims parse(std::string_view text);
  std::string str() const;
};

// dims= of a layout's spec; not given: empty. Error (usage).
Dims dims_of(const Spec& spec);

// Dense element (b, r, c) lies at batch_offset(b) + r * row_stride + c * col_stride.
struct MatrixView {
  Shape batch;  // the dimensions that dims does not name, in order; they lead in every part
  std::vector<Index> batch_strides;
  Index batches = 1;  // product of `batch`
  Index rows = 0, cols = 0;
  Index row_stride = 0, col_stride = 0;

  // Error where the rank is below 2 or dims do not fit. `transposed` exchanges rows and columns.
  static MatrixView of(const Shape& shape, Dims dims = {}, bool transposed = false);
  Index batch_offset(Index b) const;
  // Line l of batches * rows lines: where its column 0 lies.
  Index row_offset(Index l) const { return batch_offset(l / rows) + l % rows * row_stride; }
  // The line and the column of a dense offset.
  std::pair<Index, Index> place(Index offset) const;
  // `batch` followed by `rest`: the shape of a part.
  Shape part(std::initializer_list<Index> rest) const;
};

}  // namespace sten
