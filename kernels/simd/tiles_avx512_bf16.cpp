// SPDX-License-Identifier: Apache-2.0
// AVX-512 BF16: one instruction multiplies pairs and adds both products, on some processors at
// twice the rate of float32, on others at half of it.
#define STEN_TARGET STEN_AVX512_BF16
#include <immintrin.h>

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

// Product of `r` rows with t vectors of tokens.
template <int r, int t, std::int64_t lanes>
void block(const TileRows& a, const std::uint16_t* values, const std::uint16_t* x, bool more,
           float* c) {
  __m512 sums[r][t];
  for (int row = 0; row < r; ++row)
    for (int v = 0; v < t; ++v)
      sums[row][v] = more ? _mm512_loadu_ps(c + row * lanes + v * 16) : _mm512_setzero_ps();
  for (std::int64_t step = 0; step < a.depth; ++step, values += a.tiles * tile_size)
    for (std::int64_t p = 0; p < tile_feature_pairs; ++p) {
      const std::int64_t i = step * tile_feature_pairs + p;
      const std::uint16_t* line =
          a.columns ? x + a.columns[i] / (2 * panel_width / lanes) : x + i * lanes * 2;
      __m512bh in[t];
      for (int v = 0; v < t; ++v) in[v] = words(_mm512_loadu_si512(line + v * 32));
#pragma GCC unroll 16
      for (int row = 0; row < r; ++row) {
        int pair;
        __builtin_memcpy(&pair, values + row * 32 + 2 * p, 4);
        const __m512bh value = words(_mm512_set1_epi32(pair));
        for (int v = 0; v < t; ++v) sums[row][v] = _mm512_dpbf16_ps(sums[row][v], value, in[v]);
      }
    }
  for (int row = 0; row < r; ++row)
    for (int v = 0; v < t; ++v) _mm512_storeu_ps(c + row * lanes + v * 16, sums[row][v]);
}

template <int r, int t, std::int64_t lanes>
void run(const TileRows* rows, std::int64_t count, const TilePanels& panels, bool more) {
  static_assert(tile_rows % r == 0 && lanes % (t * 16) == 0);
  std::int64_t first = 0;
  for (const TileRows* a = rows; a < rows + count; first += a->tiles * tile_rows, ++a)
    for (std::int64_t p = 0; p < panels.count; ++p)
      for (std::int64_t row = 0; row < a->tiles * tile_rows; row += r)
        for (std::int64_t token = 0; token < lanes; token += t * 16)
          block<r, t, lanes>(*a, a->values + row * 32, panels.x + p * panels.x_step + 2 * token,
                             more, panels.c + p * panels.c_step + (first + row) * lanes + token);
}

}  // namespace
}  // namespace sten::kernels::avx512_bf16
STEN_TARGET_END

namespace sten::kernels {

const TilesTable* tiles_avx512_bf16() {
  static constexpr TilesTable table = tiles_table<avx512_bf16::run<16, 1, narrow_panel_width>,
                                                  avx512_bf16::run<8, 2, panel_width>>();
  return &table;
}

}  // namespace sten::kernels
