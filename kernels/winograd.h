// SPDX-License-Identifier: Apache-2.0
// Winograd's minimal filtering F(4x4, 3x3) (Lavin and Gray 2016) for channels-last activations:
// four times fewer multiplications than a convolution of 3x3 and stride 1. A tile of 6x6 pixels
// becomes 36 values per channel; products with 36 matrices give the transform of 4x4 output
// positions.
//
// The interpolation points 0, +-3/4, +-3/2 and infinity have twice the error of direct convolution;
// the error of the usual points 0, +-1, +-2 is three times larger.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

inline constexpr std::int64_t winograd_tile = 4, winograd_window = 6, winograd_planes = 36;

// The part of a tile that lies in the image: rows [row0, row1) and columns [col0, col1).
struct TilePart {
  std::int64_t row0, row1, col0, col1;
};

// A pixel is `channels` contiguous floats; the rows of a tile are `row` floats apart. Value e of
// the 36 of a tile is the floats [e * plane, e * plane + channels).
struct WinogradTable {
  // v = B^T x B, where x is 0 outside of `part`. x points to pixel (0, 0), even if that is outside
  // of the image.
  void (*input)(const float* x, std::int64_t row, std::int64_t channels, const TilePart& part,
                float* v, std::int64_t plane);
  // y = A^T m A + bias [channels], bias nullptr: 0. Writes only `part` of the 4x4 positions.
  void (*output)(const float* m, std::int64_t plane, std::int64_t channels, const float* bias,
                 const TilePart& part, float* y, std::int64_t row);
  // z = A dy A^T, where dy is 0 outside of `part`.
  void (*output_gradient)(const float* dy, std::int64_t row, std::int64_t channels,
                          const TilePart& part, float* z, std::int64_t plane);
  // u = G w G^T for n filters; tap t is w[t * stride, t * stride + n).
  void (*filter)(const float* w, std::int64_t stride, std::int64_t n, float* u, std::int64_t plane);
  // dw = G^T du G.
  void (*filter_gradient)(const float* du, std::int64_t plane, std::int64_t n, float* dw,
                          std::int64_t stride);
};

// The table for active_isa().
const WinogradTable& winograd();
// nullptr unless has_isa(isa).
const WinogradTable* winograd_for(Isa isa);

}  // namespace sten::kernels
