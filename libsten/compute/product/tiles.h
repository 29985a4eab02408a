// SPDX-License-Identifier: Apache-2.0
// Transposition between row-major matrices and panels.
#pragma once
#include <algorithm>

#include "libsten/core/tensor/transpose.h"

namespace sten {

// transpose() by tiles of cache lines: each line is read and written once, even if all lines of a
// column map to one set of the cache.
inline void transpose_tiles(const float* x, Index stride, Index rows, Index cols, float* out,
                            Index to_stride) {
  // One row or column is copied.
  if ((rows == 1 && to_stride == 1) || (cols == 1 && stride == 1)) {
    std::copy_n(x, rows * cols, out);
    return;
  }
  constexpr Index line = 16;
  for (Index c = 0; c < cols; c += line)
    for (Index r = 0; r < rows; r += line)
      transpose(x + r * stride + c, stride, std::min(line, rows - r), std::min(line, cols - c),
                out + c * to_stride + r, to_stride);
}

}  // namespace sten
