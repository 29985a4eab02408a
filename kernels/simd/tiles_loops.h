// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/tiles.h without tiles. The sums of a few rows by a few vectors of tokens are
// in registers. Pairs are widened to floats in registers, by a shift and a mask; the values of A
// are widened before each step, because several vectors use them.
#pragma once
#include <immintrin.h>

#include <algorithm>

#include "kernels/simd/target.h"
#include "kernels/tiles.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// V: the vectors of InterleavedLoops, with Sum: zero(), load(), store() and fma(). r rows, t
// vectors.
template <class V, int r, int t>
class TilesLoops {
  using Sum = typename V::Sum;

  // The features of `r` rows in a step.
  struct Step {
    alignas(64) float even[r][tile_feature_pairs], odd[r][tile_feature_pairs];

    explicit Step(const std::uint16_t* values) {
      for (int row = 0; row < r; ++row)
        for (int p = 0; p < tile_feature_pairs; p += V::lanes) {
          const auto feature_pairs = V::feature_pairs(values + row * 32 + 2 * p);
          V::store(even[row] + p, V::even(feature_pairs));
          V::store(odd[row] + p, V::odd(feature_pairs));
        }
    }
  };

  template <std::int64_t lanes>
  static void block(const TileRows& a, const std::uint16_t* values, const std::uint16_t* x,
                    bool more, float* c) {
    Sum sums[r][t];
    for (int row = 0; row < r; ++row)
      for (int v = 0; v < t; ++v)
        sums[row][v] = more ? V::load(c + row * lanes + v * V::lanes) : V::zero();
    for (std::int64_t step = 0; step < a.depth; ++step, values += a.tiles * tile_size) {
      const Step own(values);
      for (std::int64_t p = 0; p < tile_feature_pairs; ++p) {
        const std::int64_t i = step * tile_feature_pairs + p;
        const std::uint16_t* line =
            a.columns ? x + a.columns[i] / (2 * panel_width / lanes) : x + i * lanes * 2;
        Sum even[t], odd[t];
        for (int v = 0; v < t; ++v) {
          const auto feature_pairs = V::feature_pairs(line + v * 2 * V::lanes);
          even[v] = V::even(feature_pairs), odd[v] = V::odd(feature_pairs);
        }
#pragma GCC unroll 8
        for (int row = 0; row < r; ++row) {
          const Sum e = V::one(own.even[row] + p);
          for (int v = 0; v < t; ++v) sums[row][v] = V::fma(e, even[v], sums[row][v]);
        }
#pragma GCC unroll 8
        for (int row = 0; row < r; ++row) {
          const Sum o = V::one(own.odd[row] + p);
          for (int v = 0; v < t; ++v) sums[row][v] = V::fma(o, odd[v], sums[row][v]);
        }
      }
    }
    for (int row = 0; row < r; ++row)
      for (int v = 0; v < t; ++v) V::store(c + row * lanes + v * V::lanes, sums[row][v]);
  }

 public:
  template <std::int64_t lanes>
  static void run(const TileRows* rows, std::int64_t count, const TilePanels& panels, bool more) {
    constexpr std::int64_t width = t * V::lanes;
    static_assert(tile_rows % r == 0 && lanes % width == 0);
    std::int64_t first = 0;
    for (const TileRows* a = rows; a < rows + count; first += a->tiles * tile_rows, ++a)
      for (std::int64_t p = 0; p < panels.count; ++p)
        for (std::int64_t row = 0; row < a->tiles * tile_rows; row += r)
          for (std::int64_t token = 0; token < lanes; token += width)
            block<lanes>(*a, a->values + row * 32, panels.x + p * panels.x_step + 2 * token, more,
                         panels.c + p * panels.c_step + (first + row) * lanes + token);
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
