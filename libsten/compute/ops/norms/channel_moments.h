// SPDX-License-Identifier: Apache-2.0
// Sums per channel for batch norm and group norm: F32 by kernels, F64 by the formula.
#pragma once
#include "kernels/channels.h"
#include "libsten/core/base/shape.h"

namespace sten {

// sums[c] += x[row][c] - shift[c], squares[c] += (x[row][c] - shift[c])^2, over the rows of x
// [rows, n].
inline void add_channel_moments(const float* x, Index rows, Index n, const float* shift,
                                double* sums, double* squares) {
  kernels::channels().add_moments(x, rows, n, shift, sums, squares);
}
inline void add_channel_moments(const double* x, Index rows, Index n, const double* shift,
                                double* sums, double* squares) {
  for (Index i = 0; i < rows * n; ++i) {
    const double d = x[i] - shift[i % n];
    sums[i % n] += d;
    squares[i % n] += d * d;
  }
}

}  // namespace sten
