// SPDX-License-Identifier: Apache-2.0
#include "kernels/peak.h"

namespace sten::kernels {
namespace {

constexpr int tiles = 8, rows = 16, line = 64;

// The operand of ldtilecfg.
struct TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows_of[16] = {};

  TileShapes() {
    for (int i = 0; i < tiles; ++i) row_bytes[i] = line, rows_of[i] = rows;
  }
};
static_assert(sizeof(TileShapes) == 64);

// Six sums of tiles of zeros: more than the three or four multiplications that start before a sum
// can be used again.
struct Configured {
  Configured() {
    const TileShapes shapes;
    asm volatile("ldtilecfg %0" ::"m"(shapes) : "memory");
    asm volatile(
        "tilezero %%tmm0\n tilezero %%tmm1\n tilezero %%tmm2\n tilezero %%tmm3\n"
        "tilezero %%tmm4\n tilezero %%tmm5\n tilezero %%tmm6\n tilezero %%tmm7" ::);
  }
  ~Configured() { asm volatile("tilerelease" ::); }
};

constexpr double products_of_round = 6;

#define STEN_SIX_PRODUCTS(instruction)                                                         \
  asm volatile(instruction                                                                     \
               " %%tmm7, %%tmm6, %%tmm0\n" instruction " %%tmm7, %%tmm6, %%tmm1\n" instruction \
               " %%tmm7, %%tmm6, %%tmm2\n" instruction " %%tmm7, %%tmm6, %%tmm3\n" instruction \
               " %%tmm7, %%tmm6, %%tmm4\n" instruction " %%tmm7, %%tmm6, %%tmm5" ::)

double run_bf16(std::int64_t rounds) {
  const Configured tiles_are;
  for (std::int64_t r = 0; r < rounds; ++r) STEN_SIX_PRODUCTS("tdpbf16ps");
  return 2.0 * products_of_round * rows * rows * (line / 2) * static_cast<double>(rounds);
}

double run_int8(std::int64_t rounds) {
  const Configured tiles_are;
  for (std::int64_t r = 0; r < rounds; ++r) STEN_SIX_PRODUCTS("tdpbssd");
  return 2.0 * products_of_round * rows * rows * line * static_cast<double>(rounds);
}

#undef STEN_SIX_PRODUCTS

}  // namespace

const PeakTable* peak_amx() {
  static constexpr PeakTable table{nullptr, run_bf16, run_int8};
  return &table;
}

}  // namespace sten::kernels
