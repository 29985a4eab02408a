// SPDX-License-Identifier: Apache-2.0
// TilesEach for a TilesRun: computes each block of sums in memory and passes it to the taker.
#pragma once
#include "kernels/tiles.h"

namespace sten::kernels {

template <TilesRun* multiply, std::int64_t lanes>
void each_block(const TileRows* rows, std::int64_t count, const TilePanels& panels,
                const TileTaker& taker) {
  alignas(64) float sums[2 * tile_rows * lanes];
  std::int64_t row = 0;
  for (const TileRows* a = rows; a < rows + count; row += a->tiles * tile_rows, ++a)
    for (std::int64_t p = 0; p < panels.count; ++p) {
      multiply(a, 1, {1, panels.x + p * panels.x_step, 0, sums, 0}, false);
      const TileBlock block{sums, row, a->tiles * tile_rows, p, 0, lanes};
      for (std::int64_t part = 0; part < tile_parts; ++part) taker.take(taker.self, block, part);
    }
}

// The table of a kernel for narrow_panel_width and one for panel_width lanes.
template <TilesRun* narrow, TilesRun* wide>
constexpr TilesTable tiles_table() {
  return {{narrow, wide}, {each_block<narrow, narrow_panel_width>, each_block<wide, panel_width>}};
}

}  // namespace sten::kernels
