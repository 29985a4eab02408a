// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/bf16_kernel.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

namespace sten {
namespace {

// The minimum time of some products of 32 rows x 256 features with a panel, in seconds.
double seconds_of(const kernels::TilesTable& table) {
  using namespace kernels;
  constexpr std::int64_t depth = 8;
  struct alignas(64) Line {
    std::uint16_t words[32];
  };
  constexpr std::int64_t words = 32;
  std::vector<Line> values(2 * depth * tile_size / words);
  std::vector<Line> x(depth * tile_feature_pairs * 2 * panel_width / words);
  std::vector<Line> sums(2 * tile_rows * panel_width * 2 / words);
  // Two tiles of dense rows.
  const TileRows rows[] = {{values[0].words, nullptr, 1, depth},
                           {values[depth * tile_size / words].words, nullptr, 1, depth}};
  const TilePanels panels{1, x[0].words, 0, reinterpret_cast<float*>(sums.data()), 0};
  double least = 1;
  for (int i = 0; i < 8; ++i) {
    const auto start = std::chrono::steady_clock::now();
    table.multiply[1](rows, 2, panels, false);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count());
  }
  return least;
}

}  // namespace

const kernels::TilesTable& bf16_kernels() {
  using kernels::Isa;
  static const kernels::TilesTable& fastest = []() -> const kernels::TilesTable& {
    const kernels::TilesTable& own = kernels::tiles();
    const char* wanted = std::getenv("STEN_ISA");
    if (kernels::active_isa() != Isa::avx512_bf16 || (wanted && *wanted)) return own;
    const kernels::TilesTable& floats = *kernels::tiles_for(Isa::avx512);
    return seconds_of(own) * 1.2 < seconds_of(floats) ? own : floats;
  }();
  return fastest;
}

}  // namespace sten
