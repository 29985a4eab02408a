// SPDX-License-Identifier: Apache-2.0
// Geometry of n:m:g: the chunks of a matrix.
#pragma once
#include "libsten/core/tensor/dense.h"
#include "libsten/core/tensor/matrix_view.h"

namespace sten {

// Division of a matrix [R, K] into chunks; with axis 1, rows and columns are exchanged.
struct NmgGeometry {
  MatrixView view;  // transposed for axis 1: strips run along columns
  Index n, m, g;
  Index patterns;  // C = C(m, n)
  Index strips;    // C * g, columns of a chunk
  Index row_blocks, chunks;

  // Error (usage) unless 1 <= n <= m, g >= 1, axis is valid, and column indices of a chunk fit 16
  // bits.
  static void check(Index n, Index m, Index g, Index axis);
  static NmgGeometry of(const Shape& shape, Index n, Index m, Index g, Index axis, Dims dims);
  Index units() const { return view.batches * row_blocks * chunks; }
  DType index_dtype() const { return strips <= 256 ? DType::U8 : DType::U16; }
};

// Unit u of units(): one chunk of one row block.
struct NmgUnit {
  Index row0, col0;  // in the unit's matrix
  Index rows, cols;  // without padding
  Index offset;      // dense offset of the first element
  NmgUnit(const NmgGeometry& geo, Index u);
};

}  // namespace sten
