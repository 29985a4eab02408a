// Between row-major matrices and panels.
#pragma once
#include <algorithm>

#include "libsten/base/shape.h"

namespace sten {

// to[c * to_stride + r] = from[r * from_stride + c], a cache line of columns at a time.
inline void transpose(Index rows, Index cols, const float* from, Index from_stride, float* to,
                      Index to_stride) {
  constexpr Index line = 16;
  for (Index c0 = 0; c0 < cols; c0 += line)
    for (Index r = 0; r < rows; ++r)
      for (Index c = c0; c < std::min(cols, c0 + line); ++c)
        to[c * to_stride + r] = from[r * from_stride + c];
}

}  // namespace sten
