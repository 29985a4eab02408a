// SPDX-License-Identifier: Apache-2.0
// The steps of a kernel in kernels/tiles.h.
#pragma once
#include <type_traits>

#include "kernels/simd/target.h"
#include "kernels/tiles.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// Calls step(values of `row`, their distance to the next row) for each step of 32 features in
// order.
template <class F>
__attribute__((always_inline)) inline void each_step(const TileRows& a, std::int64_t row,
                                                     F&& step) {
  constexpr std::integral_constant<std::int64_t, chunk_features> chunk_stride;
  constexpr std::integral_constant<std::int64_t, tile_features> tile_stride;
  const std::uint16_t* values = a.values + row * chunk_features;
  for (std::int64_t c = 0; c < a.chunks; ++c, values += tile_rows * chunk_features)
    for (std::int64_t s = 0; s < chunk_steps; ++s) step(values + s * tile_features, chunk_stride);
  values = a.values + a.chunks * tile_rows * chunk_features + row * tile_features;
  for (std::int64_t s = a.chunks * chunk_steps; s < a.depth; ++s, values += a.tiles * tile_size)
    step(values, tile_stride);
}

}  // namespace sten::kernels::simd
STEN_TARGET_END
