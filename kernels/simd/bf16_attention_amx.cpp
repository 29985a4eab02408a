// SPDX-License-Identifier: Apache-2.0
// Attention on AMX tiles. Scores [keys, queries] are products of tiles of keys with interleaved
// queries, read in place. Sums [features, queries] are products of tiles of values with the
// interleaved weights of keys, which replace the scores in memory.
#define STEN_TARGET STEN_AMX
#include "kernels/bf16_attention.h"

#include <algorithm>
#include <limits>

#include "kernels/simd/interleaved16.h"
#include "kernels/simd/interleaved_vectors_bf16.h"
#include "kernels/simd/math.h"
#include "kernels/simd/tile_registers.h"

STEN_TARGET_BEGIN
namespace sten::kernels::amx {
namespace {

using simd::each;
using Size = std::int64_t;
using Lanes = simd::InterleavedVectorsBf16;
using Vec = Lanes::Vec;

// Rows of a tile, bfloat16 values per row, and per tile.
constexpr Size tile_rows = 16, tile_step = 32, tile_words = tile_rows * tile_step;
// For up to this many keys all scores are computed before they become weights: with 64 queries, 128
// KB of L2. With more keys, earlier sums are rescaled as in kernels/panels.h.
constexpr Size most_keys = 512;

Size steps_of(Size n) { return (n + tile_step - 1) / tile_step; }
Size tiles_of(Size n) { return (n + tile_rows - 1) / tile_rows; }

// Packed keys: [tiles of keys, an even number][steps of features] of tiles [16 keys][32 features].
Size keys_size(Size width, Size keys) { return steps_of(keys) * steps_of(width) * tile_words; }
// Packed values: [steps of keys][tiles of features] of tiles [16 features][32 keys].
Size values_size(Size v_width, Size keys) {
  return steps_of(keys) * tiles_of(v_width) * (tile_words / 2);
}

void take_keys(const std::uint16_t* x, Size step, Size width, Size keys, float* to) {
  auto* tile = reinterpret_cast<std::uint16_t*>(to);
  const Size feature_pairs = (width + 1) / 2;
  for (Size key = 0; key < steps_of(keys) * tile_step; key += tile_rows) {
    const std::uint16_t* from = x + key / panel_width * step + key % panel_width * 2;
    for (Size s = 0; s < steps_of(width); ++s, tile += tile_words) {
      __m512i rows[tile_rows];
      for (Size i = 0; i < tile_rows; ++i) {
        const Size p = s * tile_rows + i;
        rows[i] = p < feature_pairs ? Lanes::load_words(from + p * 2 * panel_width)
                                    : _mm512_setzero_si512();
      }
      avx512::Interleaved16::transpose(rows);
      for (Size i = 0; i < tile_rows; ++i) Lanes::store_words(tile + i * tile_step, rows[i]);
    }
  }
}

void take_values(const std::uint16_t* x, Size step, Size v_width, Size keys, float* to) {
  auto* tiles = reinterpret_cast<std::uint16_t*>(to);
  // Indices of the first and of the second values of the pairs in two vectors.
  alignas(64) std::uint16_t order[2][tile_step];
  for (Size i = 0; i < tile_step; ++i)
    for (Size half = 0; half < 2; ++half) order[half][i] = static_cast<std::uint16_t>(2 * i + half);
  const __m512i even = Lanes::load_words(order[0]), odd = Lanes::load_words(order[1]);
  const Size padded = tiles_of(v_width) * tile_rows;
  for (Size key = 0; key < keys; key += tile_step, tiles += padded * tile_step) {
    const std::uint16_t* from = x + key / panel_width * step + key % panel_width * 2;
    // Values after the last key are set to 0, because 0 weights times NaN would give NaN.
    const Size count = std::min(tile_step, keys - key);
    const auto lane_mask = static_cast<__mmask32>((std::uint64_t{1} << count) - 1);
    for (Size f = 0; f < padded; f += 2) {
      __m512i a = _mm512_setzero_si512(), b = a;
      if (f < v_width) {
        a = Lanes::load_words(from + f * panel_width);
        b = Lanes::load_words(from + f * panel_width + tile_step);
      }
      const auto store = [&](Size row, __m512i of) {
        Lanes::store_words(tiles + row * tile_step,
                           _mm512_maskz_permutex2var_epi16(lane_mask, a, of, b));
      };
      store(f, even);
      store(f + 1, odd);
    }
  }
}

template <Size lanes>
struct TileAttention : simd::Math<Lanes> {
  static constexpr Size vectors = lanes / Lanes::lanes;
  // Columns of tiles per product; each takes a register for B.
  static constexpr Size columns = vectors < 2 ? vectors : 2;
  static constexpr Size row_bytes = lanes * Size{sizeof(float)};

  static Size scores_size(const Bf16Attention& a) {
    return std::min(most_keys, steps_of(a.keys) * tile_step) * lanes;
  }
  static Size memory_size(const Bf16Attention& a) {
    return scores_size(a) + tiles_of(a.v_width) * tile_rows * lanes;
  }

  // Scores [32, lanes] of two tiles of keys, for some queries at a time. Calls between(queries /
  // tile_rows, step) after each step of features, so that vector units work while tiles do.
  template <class F>
  STEN_INLINE static void score(const Bf16Attention& a, Size key, float* scores, F&& between) {
    const Size steps = steps_of(a.width);
    const auto* k =
        reinterpret_cast<const std::uint16_t*>(a.k) + key / tile_rows * steps * tile_words;
    each<vectors / columns>([&](auto part) STEN_INLINE {
      constexpr Size at = Size{part} * columns * tile_rows;
      STEN_TILE_ZERO(0);
      STEN_TILE_ZERO(1);
      if constexpr (columns == 2) {
        STEN_TILE_ZERO(2);
        STEN_TILE_ZERO(3);
      }
      for (Size s = 0; s < steps; ++s) {
        const std::uint16_t* q = a.q + (s * tile_rows * lanes + at) * 2;
        STEN_TILE_LOAD(6, q, row_bytes);
        STEN_TILE_LOAD(4, k + s * tile_words, 64);
        STEN_TILE_MULTIPLY(0, 4, 6);
        STEN_TILE_LOAD(5, k + (steps + s) * tile_words, 64);
        STEN_TILE_MULTIPLY(1, 5, 6);
        if constexpr (columns == 2) {
          STEN_TILE_LOAD(7, q + tile_step, row_bytes);
          STEN_TILE_MULTIPLY(2, 4, 7);
          STEN_TILE_MULTIPLY(3, 5, 7);
        }
        between(part, s);
      }
      STEN_TILE_STORE(0, scores + at, row_bytes);
      STEN_TILE_STORE(1, scores + tile_rows * lanes + at, row_bytes);
      if constexpr (columns == 2) {
        STEN_TILE_STORE(2, scores + at + tile_rows, row_bytes);
        STEN_TILE_STORE(3, scores + tile_rows * lanes + at + tile_rows, row_bytes);
      }
    });
  }
  static void score(const Bf16Attention& a, Size key, float* scores) {
    score(a, key, scores, [](auto, Size) STEN_INLINE {});
  }

  // sums [features, lanes] += values of the keys from `key` on times their weights.
  static void add_values(const Bf16Attention& a, Size key, Size keys, bool more,
                         const float* scores, float* sums) {
    const Size tiles = tiles_of(a.v_width);
    const auto* v =
        reinterpret_cast<const std::uint16_t*>(a.v) + key / tile_step * tiles * tile_words;
    const auto* weights = reinterpret_cast<const std::uint16_t*>(scores);
    for (Size at = 0; at < lanes; at += columns * tile_rows)
      for (Size t = 0; t < tiles; t += 2) {
        const bool both = t + 1 < tiles;
        float* to = sums + t * tile_rows * lanes + at;
        if (more) {
          STEN_TILE_LOAD(0, to, row_bytes);
          if (both) STEN_TILE_LOAD(1, to + tile_rows * lanes, row_bytes);
          if constexpr (columns == 2) {
            STEN_TILE_LOAD(2, to + tile_rows, row_bytes);
            if (both) STEN_TILE_LOAD(3, to + tile_rows * lanes + tile_rows, row_bytes);
          }
        } else {
          STEN_TILE_ZERO(0);
          STEN_TILE_ZERO(1);
          if constexpr (columns == 2) {
            STEN_TILE_ZERO(2);
            STEN_TILE_ZERO(3);
          }
        }
        for (Size s = 0; s < steps_of(keys); ++s) {
          const std::uint16_t* w = weights + (s * tile_rows * lanes + at) * 2;
          const std::uint16_t* value = v + (s * tiles + t) * tile_words;
          STEN_TILE_LOAD(6, w, row_bytes);
          STEN_TILE_LOAD(4, value, 64);
          STEN_TILE_MULTIPLY(0, 4, 6);
          if constexpr (columns == 2) {
            STEN_TILE_LOAD(7, w + tile_step, row_bytes);
            STEN_TILE_MULTIPLY(2, 4, 7);
          }
          if (both) {
            STEN_TILE_LOAD(5, value + tile_words, 64);
            STEN_TILE_MULTIPLY(1, 5, 6);
            if constexpr (columns == 2) STEN_TILE_MULTIPLY(3, 5, 7);
          }
        }
        STEN_TILE_STORE(0, to, row_bytes);
        if (both) STEN_TILE_STORE(1, to + tile_rows * lanes, row_bytes);
        if constexpr (columns == 2) {
          STEN_TILE_STORE(2, to + tile_rows, row_bytes);
          if (both) STEN_TILE_STORE(3, to + tile_rows * lanes + tile_rows, row_bytes);
        }
      }
  }

  // b log2(e), clamped to stay finite if b is: if all keys have the lowest value, the softmax
  // differs from that of -inf.
  STEN_INLINE static Vec bias_of(Vec b) {
    const Vec most = Lanes::set(std::numeric_limits<float>::max());
    const Vec size = Lanes::abs(b);
    return Lanes::with_sign(
        Lanes::max(size, Lanes::min(most, Lanes::mul(size, Lanes::set(1.44269504f)))), b);
  }
  // Applies scale, bias and masks to scores [32, lanes] from `key` on, before their maximum is
  // taken. by: the factor to apply here, 1 if the scale is applied later.
  static void finish(const Bf16Attention& a, Size key, bool scales, float* scores) {
    const Size count = std::min(tile_step, a.keys - key);
    const Vec by = Lanes::set(a.scale * 1.44269504f);
    if (scales)
      for (Size j = 0; j < count; ++j) {
        const float* b = a.bias ? a.bias + (key + j) * a.bias_step : nullptr;
        each<vectors>([&](auto i) STEN_INLINE {
          float* at = scores + j * lanes + i * Lanes::lanes;
          Vec bias = Lanes::zero();
          if (b)
            bias = bias_of(a.bias_step == 1 ? Lanes::one(b) : Lanes::load(b + i * Lanes::lanes));
          Lanes::store(at, Lanes::add(Lanes::mul(Lanes::load(at), by), bias));
        });
      }
    constexpr float none = -std::numeric_limits<float>::infinity();
    std::fill(scores + count * lanes, scores + tile_step * lanes, none);
    // The first queries of the panel do not see its last keys.
    for (Size j = std::max<Size>(0, a.before - key); j < count; ++j)
      std::fill_n(scores + j * lanes, std::min<Size>(lanes, key + j - a.before + 1), none);
    if (!a.seen) return;
    for (Size j = 0; j < count; ++j)
      if (!a.seen[key + j]) std::fill_n(scores + j * lanes, lanes, none);
  }

  // Per query: the maximum score so far, and the sum of e^(score - maximum).
  struct Queries {
    Vec most[vectors], all[vectors];
  };

  // 2^x with error 1e-4, enough for weights that are rounded to 2^-9; 0 for -inf.
  STEN_INLINE static Vec power(Vec x) {
    // Chebyshev interpolation.
    static constexpr float c[] = {0.07896725704f, 0.2246931558f, 0.6963247711f, 0.9999002882f};
    constexpr int below = 0x9;
    return Lanes::scaled(simd::Math<Lanes>::polynomial(c, _mm512_reduce_ps(x, below)), x);
  }

  // Converts the scores of keys [begin, end), even numbers, and of the i-th vector of queries to
  // interleaved weights with the same row stride. `weights` can be the memory of the scores.
  STEN_INLINE static void weigh(const float* scores, float* weights, Size begin, Size end, Size i,
                                Vec by, Queries& queries) {
    const float* from = scores + begin * lanes + i * Lanes::lanes;
    auto* to = reinterpret_cast<std::uint16_t*>(weights) + begin * lanes + i * tile_step;
    const Vec most = queries.most[i];
    Vec all = Lanes::zero(), other = all;
    for (Size j = begin; j < end; j += 2, from += 2 * lanes, to += 2 * lanes) {
      const Vec a = power(_mm512_fmsub_ps(Lanes::load(from), by, most));
      const Vec b = power(_mm512_fmsub_ps(Lanes::load(from + lanes), by, most));
      all = Lanes::add(all, a);
      other = Lanes::add(other, b);
      Lanes::store_words(to, Lanes::pack(a, b));
    }
    queries.all[i] = Lanes::add(queries.all[i], Lanes::add(all, other));
  }

  // Whether scores are scaled before the maximum is taken: a bias has to be added to scaled scores,
  // and a scale <= 0 would change their order. Otherwise `by` scales them to exponents of 2.
  static bool scales_first(const Bf16Attention& a) { return a.bias || !(a.scale > 0); }
  static Vec scale_of(const Bf16Attention& a) {
    return Lanes::set(scales_first(a) ? 1 : a.scale * 1.44269504f);
  }
  static void finish_strip(const Bf16Attention& a, Size key, float* scores) {
    const bool scales = scales_first(a);
    if (scales || a.seen || key + tile_step > std::min(a.keys, a.before))
      finish(a, key, scales, scores);
  }
  STEN_INLINE static void take_most(const float* scores, Vec (&most)[vectors]) {
    for (Size j = 0; j < tile_step; ++j)
      each<vectors>([&](auto i) STEN_INLINE {
        most[i] = Lanes::max(Lanes::load(scores + j * lanes + i * Lanes::lanes), most[i]);
      });
  }

  // Attention in one pass. Weights are powers of 2 relative to the maximum of the first 32 scores,
  // which in floating point need not be the maximum of all. Returns false if the scores are too far
  // from it.
  static bool attend_at_once(const Bf16Attention& a, float* weights, float* sums,
                             Queries& queries) {
    alignas(64) float strips[2][tile_step * lanes];
    const Vec by = scale_of(a);
    score(a, 0, strips[0]);
    finish_strip(a, 0, strips[0]);
    Vec most[vectors];
    each<vectors>(
        [&](auto i) STEN_INLINE { most[i] = Lanes::set(-std::numeric_limits<float>::infinity()); });
    take_most(strips[0], most);
    bool fits = true;
    each<vectors>([&](auto i) STEN_INLINE {
      queries.most[i] = Lanes::mul(most[i], by);
      queries.all[i] = Lanes::zero();
      fits = fits && is_below(Lanes::abs(queries.most[i]), 1e30f);
    });
    if (!fits) return false;
    const Size steps = steps_of(a.width);
    for (Size first = 0; first < a.keys; first += most_keys) {
      const Size keys = std::min(most_keys, steps_of(a.keys - first) * tile_step);
      for (Size key = 0; key < keys; key += tile_step) {
        const float* scores = strips[(first + key) / tile_step % 2];
        float* to = weights + key / 2 * lanes;
        if (first + key + tile_step < a.keys) {
          float* next = strips[((first + key) / tile_step + 1) % 2];
          score(a, first + key + tile_step, next, [&](auto part, Size s) STEN_INLINE {
            const Size begin = s * tile_rows / steps * 2, end = (s + 1) * tile_rows / steps * 2;
            each<columns>([&](auto j) STEN_INLINE {
              weigh(scores, to, begin, end, Size{part} * columns + j, by, queries);
            });
          });
          finish_strip(a, first + key + tile_step, next);
        } else {
          each<vectors>([&](auto i)
                            STEN_INLINE { weigh(scores, to, 0, tile_step, i, by, queries); });
        }
      }
      add_values(a, first, keys, first > 0, weights, sums);
    }
    each<vectors>([&](auto i) STEN_INLINE { fits = fits && is_below(queries.all[i], 1e18f); });
    return fits;
  }
  // Whether all lanes are below `most`; false for NaN.
  STEN_INLINE static bool is_below(Vec x, float most) {
    return _mm512_cmp_ps_mask(x, Lanes::set(most), _CMP_LT_OQ) == 0xffff;
  }

  // Computes the scores of a block of keys, then replaces them by weights.
  static void attend_by_blocks(const Bf16Attention& a, float* scores, float* sums,
                               Queries& queries) {
    const Size features = tiles_of(a.v_width) * tile_rows;
    const Vec by = scale_of(a);
    each<vectors>([&](auto i) STEN_INLINE {
      // The lowest float, because -inf - (-inf) is NaN.
      queries.most[i] = Lanes::set(std::numeric_limits<float>::lowest());
      queries.all[i] = Lanes::zero();
    });
    for (Size first = 0; first < a.keys; first += most_keys) {
      const Size keys = std::min(most_keys, steps_of(a.keys - first) * tile_step);
      Vec most[vectors];
      each<vectors>([&](auto i) STEN_INLINE {
        most[i] = Lanes::set(-std::numeric_limits<float>::infinity());
      });
      for (Size key = first; key < first + keys; key += tile_step) {
        float* at = scores + (key - first) * lanes;
        score(a, key, at);
        finish_strip(a, key, at);
        take_most(at, most);
      }
      each<vectors>([&](auto i) STEN_INLINE {
        const Vec before = queries.most[i];
        queries.most[i] = Lanes::max(Lanes::mul(most[i], by), before);
        if (first > 0) {
          const Vec factor = power(Lanes::sub(before, queries.most[i]));
          queries.all[i] = Lanes::mul(queries.all[i], factor);
          float* row = sums + i * Lanes::lanes;
          for (Size f = 0; f < features; ++f, row += lanes)
            Lanes::store(row, Lanes::mul(Lanes::load(row), factor));
        }
        weigh(scores, scores, 0, keys, i, by, queries);
      });
      add_values(a, first, keys, first > 0, scores, sums);
    }
  }

  static void attend(const Bf16Attention& a) {
    const simd::WholeTiles tiles;
    float *scores = a.memory, *sums = scores + scores_size(a);
    Queries queries;
    if (!attend_at_once(a, scores, sums, queries)) attend_by_blocks(a, scores, sums, queries);
    // A sum of 0 belongs to a query that sees no key.
    const Vec least = Lanes::set(std::numeric_limits<float>::min());
    each<vectors>([&](auto i) STEN_INLINE {
      const Vec share = Lanes::div(Lanes::set(1), Lanes::max(least, queries.all[i]));
      const float* row = sums + i * Lanes::lanes;
      std::uint16_t* y = a.y + i * tile_step;
      for (Size f = 0; f < a.v_width; f += 2, row += 2 * lanes, y += 2 * lanes) {
        const Vec high =
            f + 1 < a.v_width ? Lanes::mul(share, Lanes::load(row + lanes)) : Lanes::zero();
        Lanes::store_words(y, Lanes::pack(Lanes::mul(share, Lanes::load(row)), high));
      }
    });
  }

  static constexpr Bf16AttentionTable table{keys_size,   values_size, take_keys,
                                            take_values, memory_size, attend};
};

}  // namespace
}  // namespace sten::kernels::amx
STEN_TARGET_END

namespace sten::kernels {

const Bf16AttentionTable* bf16_attention_amx(std::int64_t lanes) {
  return lanes == narrow_panel_width ? &amx::TileAttention<narrow_panel_width>::table
                                     : &amx::TileAttention<panel_width>::table;
}

}  // namespace sten::kernels
