// SPDX-License-Identifier: Apache-2.0
// AVX-512 BF16: one instruction multiplies pairs and adds both products, on some processors at
// twice the rate of float32, on others at half of it.
#define STEN_TARGET STEN_AVX512_BF16
#include <immintrin.h>

#include <algorithm>

#include "kernels/simd/target.h"
#include "kernels/tiles.h"
#include "kernels/tiles_each.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512_bf16 {
namespace {

__m512bh words(__m512i v) {
  __m512bh w;
  __builtin_memcpy(&w, &v, sizeof w);
  return w;
}

// Rows of pairs of x that are prefetched ahead: hardware does not predict them, because a block
// reads one line of each.
constexpr std::int64_t rows_ahead = 8;

// Product of the 16 rows of a tile, which are read sequentially, with a vector of tokens.
template <std::int64_t lanes>
void block(const TileRows& a, const std::uint16_t* values, const std::uint16_t* x, bool more,
           float* c) {
  const auto line = [&](std::int64_t pair) {
    return a.columns ? x + a.columns[pair] / (2 * panel_width / lanes) : x + pair * lanes * 2;
  };
  const std::int64_t last = a.depth * tile_feature_pairs - 1;
  __m512 sums[tile_rows];
  for (int row = 0; row < tile_rows; ++row)
    sums[row] = more ? _mm512_loadu_ps(c + row * lanes) : _mm512_setzero_ps();
  for (std::int64_t step = 0; step < a.depth; ++step, values += a.tiles * tile_size)
    for (std::int64_t p = 0; p < tile_feature_pairs; ++p) {
      const std::int64_t i = step * tile_feature_pairs + p;
      _mm_prefetch(reinterpret_cast<const char*>(line(std::min(i + rows_ahead, last))),
                   _MM_HINT_T0);
      const __m512bh in = words(_mm512_loadu_si512(line(i)));
#pragma GCC unroll 16
      for (int row = 0; row < tile_rows; ++row) {
        int pair;
        __builtin_memcpy(&pair, values + row * 32 + 2 * p, 4);
        sums[row] = _mm512_dpbf16_ps(sums[row], words(_mm512_set1_epi32(pair)), in);
      }
    }
  for (int row = 0; row < tile_rows; ++row) _mm512_storeu_ps(c + row * lanes, sums[row]);
}

template <std::int64_t lanes>
void run(const TileRows* rows, std::int64_t count, const TilePanels& panels, bool more) {
  std::int64_t first = 0;
  for (const TileRows* a = rows; a < rows + count; first += a->tiles * tile_rows, ++a)
    for (std::int64_t p = 0; p < panels.count; ++p)
      for (std::int64_t row = 0; row < a->tiles * tile_rows; row += tile_rows)
        for (std::int64_t token = 0; token < lanes; token += 16)
          block<lanes>(*a, a->values + row * 32, panels.x + p * panels.x_step + 2 * token, more,
                       panels.c + p * panels.c_step + (first + row) * lanes + token);
}

}  // namespace
}  // namespace sten::kernels::avx512_bf16
STEN_TARGET_END

namespace sten::kernels {

const TilesTable* tiles_avx512_bf16() {
  static constexpr TilesTable table =
      tiles_table<avx512_bf16::run<narrow_panel_width>, avx512_bf16::run<panel_width>>();
  return &table;
}

}  // namespace sten::kernels
