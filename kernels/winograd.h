// Winograd's minimal filtering F(4x4, 3x3) (Lavin and Gray 2016) of channels-last activations: four
// times fewer products than a convolution of 3x3 and stride 1. A tile of 6x6 pixels becomes 36 numbers
// for each channel, which products with 36 matrices take to those of 4x4 places of the result.
//
// Made for the points 0, +-3/4, +-3/2 and infinity, whose errors are those of a convolution by the
// formula times two; the usual 0, +-1, +-2 has three times more.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

inline constexpr std::int64_t winograd_tile = 4, winograd_window = 6, winograd_planes = 36;

// The part of a tile, rows [row0, row1) and columns [col0, col1), that lies in the image.
struct TilePart {
  std::int64_t row0, row1, col0, col1;
};

// Pixels of a tile are `channels` floats in a row, its rows `row` floats apart. Number e of the 36 of a
// tile is the floats [e * plane, e * plane + channels).
struct WinogradTable {
  // v = B^T x B, with x 0 outside of the part; x points to where pixel (0, 0) is or would be.
  void (*input)(const float* x, std::int64_t row, std::int64_t channels, const TilePart& part,
                float* v, std::int64_t plane);
  // y = A^T m A + bias [channels], or no bias for nullptr; the part of the 4x4 is written.
  void (*output)(const float* m, std::int64_t plane, std::int64_t channels, const float* bias,
                 const TilePart& part, float* y, std::int64_t row);
  // z = A dy A^T, with dy 0 outside of the part.
  void (*output_gradient)(const float* dy, std::int64_t row, std::int64_t channels,
                          const TilePart& part, float* z, std::int64_t plane);
  // u = G w G^T of n filters, tap t of which are w[t * stride, t * stride + n).
  void (*filter)(const float* w, std::int64_t stride, std::int64_t n, float* u, std::int64_t plane);
  // dw = G^T du G.
  void (*filter_gradient)(const float* du, std::int64_t plane, std::int64_t n, float* dw,
                          std::int64_t stride);
};

// The table of active_isa().
const WinogradTable& winograd();
// nullptr unless has_isa(isa).
const WinogradTable* winograd_for(Isa isa);

}  // namespace sten::kernels
