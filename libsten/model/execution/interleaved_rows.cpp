// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/interleaved_rows.h"

#include <algorithm>

#include "kernels/interleaved.h"
#include "libsten/compute/product/tiles.h"

namespace sten::execution {

void rows_to_interleaved(const float* rows, Index tokens, Index features, std::uint16_t* panel,
                         Index lanes) {
  if (tokens < lanes) std::fill_n(panel, padded_features(features) * lanes, std::uint16_t{0});
  kernels::interleaved().round_tokens(rows, features, features, tokens, panel, 2 * lanes);
  clear_padding(panel, features, lanes);
}

void interleaved_to_rows(const std::uint16_t* panel, Index lanes, Index tokens, Index features,
                         float* rows) {
  alignas(64) float wide[most_widened * panel_width];
  for (Index f = 0; f < features; f += most_widened) {
    const Index count = std::min(most_widened, features - f);
    kernels::interleaved().widen_features(panel + f * lanes, 2 * lanes, count, lanes, wide, lanes);
    transpose_tiles(wide, lanes, count, tokens, rows + f, features);
  }
}

void widen_panel(const std::uint16_t* panel, Index features, Index lanes, float* wide) {
  kernels::interleaved().widen_features(panel, 2 * lanes, features, lanes, wide, lanes);
}
void round_panel(const float* wide, Index features, Index lanes, std::uint16_t* panel) {
  kernels::interleaved().round_features(wide, lanes, features, lanes, panel, 2 * lanes);
  clear_padding(panel, features, lanes);
}

void clear_padding(std::uint16_t* panel, Index features, Index lanes) {
  const Index first = (features + features % 2) * lanes;
  std::fill(panel + first, panel + padded_features(features) * lanes, std::uint16_t{0});
}

}  // namespace sten::execution
