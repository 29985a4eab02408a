// SPDX-License-Identifier: Apache-2.0
#include "kernels/tiles.h"

#include "kernels/interleaved.h"
#include "kernels/tiles_each.h"

namespace sten::kernels {
namespace {

template <std::int64_t lanes>
void multiply(const TileRows* rows, std::int64_t count, const TilePanels& panels, bool more) {
  std::int64_t row = 0;
  for (const TileRows* a = rows; a < rows + count; row += a->tiles * tile_rows, ++a)
    for (std::int64_t p = 0; p < panels.count; ++p)
      for (std::int64_t r = 0; r < a->tiles * tile_rows; ++r)
        for (std::int64_t t = 0; t < lanes; ++t) {
          float* c = panels.c + p * panels.c_step + (row + r) * lanes + t;
          float sum = more ? *c : 0;
          for (std::int64_t i = 0; i < a->depth * tile_feature_pairs; ++i) {
            const std::int64_t step = i / tile_feature_pairs;
            const std::int64_t line = a->columns ? a->columns[i] / (4 * panel_width) : i;
            const std::uint16_t* x = panels.x + p * panels.x_step + (line * lanes + t) * 2;
            const std::uint16_t* value =
                a->values + ((step * a->tiles + r / tile_rows) * tile_rows + r % tile_rows) * 32 +
                i % tile_feature_pairs * 2;
            for (int j = 0; j < 2; ++j) sum += widen_bf16(value[j]) * widen_bf16(x[j]);
          }
          *c = sum;
        }
}

}  // namespace

const TilesTable* tiles_reference() {
  static constexpr TilesTable table =
      tiles_table<multiply<narrow_panel_width>, multiply<panel_width>>();
  return &table;
}

}  // namespace sten::kernels
