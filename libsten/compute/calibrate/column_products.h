// SPDX-License-Identifier: Apache-2.0
// Gram and cross matrices of layer inputs, summed over batches by the kernels of kernels/panels.h.
#pragma once
#include "libsten/core/base/array.h"
#include "libsten/core/base/shape.h"

namespace sten {

// A batch [rows,n], transposed and in panels of columns, as the kernel reads its two operands.
class Columns {
 public:
  Columns(Index rows, Index n, const float* x);

 private:
  friend class ColumnProducts;
  Index rows_, n_;
  Array<float> transposed_, panels_;  // [n, rows]; [panels of columns, rows, panel_width]
};

// The sum of A^T B over batches A and B [rows,n]. Results do not depend on the number of threads.
class ColumnProducts {
 public:
  // is_gram: B is A, and one triangle is computed.
  ColumnProducts(Index n, bool is_gram);

  // Error unless both have n columns and the same rows.
  void add(const Columns& a, const Columns& b);
  // Writes the sum to C [n,n].
  void write(float* c) const;

 private:
  // The rows of a panel of C that are computed.
  Index rows_of(Index panel) const;

  Index n_;
  bool is_gram_;
  Array<float> sums_;  // [panels of columns, n, panel_width]
};

}  // namespace sten
