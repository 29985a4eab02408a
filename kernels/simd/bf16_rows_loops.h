// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/bf16_small_batch.h for rows. V extends Bf16Interleaved16 by
//   sum(v)     of all lanes
//   most_sums  vectors that fit in registers beside the factors
//   has_dot    whether it and Eight have dot(sum, x, pair): the sum plus, for each token, the two
//              products of its pair of features and a pair of the weight. Without it, values are
//              widened exactly, and multiplied as float32
//   Eight      such vectors of 8 lanes
#pragma once
#include <immintrin.h>

#include <algorithm>

#include "kernels/bf16_small_batch.h"
#include "kernels/interleaved.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// Prefetch distance in bytes of each of the groups that are read side by side.
inline constexpr std::int64_t bf16_rows_ahead = 256;

template <class V>
class Bf16RowsLoops {
  using Int = std::int64_t;
  using Vec = typename V::Vec;
  static constexpr Int L = V::lanes, most = bf16_most_tokens;
  static constexpr Int rows = bf16_tile_rows, columns = bf16_tile_columns;
  static constexpr int vectors = most / L;

  // Up to this many tokens, vectors hold the features of one token; with more, vectors hold tokens.
  static constexpr Int max_scalar_tokens = 4;

  static void fetch_row(const std::uint16_t* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p) + bf16_rows_ahead, _MM_HINT_T0);
  }

  // x: [pairs / L][even features, odd features][L] for each token. Multiplies a row of as many
  // groups at a time as there are registers for.
  template <int tokens>
  static void rows_by_columns(const Bf16Rows& a, const float* x, Int ldx, float* y) {
    constexpr int together = V::most_sums / tokens >= bf16_streams ? bf16_streams : 2;
    for (Int first = 0; first < a.count; first += together) {
      const std::uint16_t* row[together];  // the last group is repeated, if there are no more
      for (Int g = 0; g < together; ++g) row[g] = a.groups[std::min(first + g, a.count - 1)];
      for (Int r = 0; r < rows; ++r) {
        Vec s[together][tokens];
        for (auto& of : s)
          for (Vec& sum : of) sum = V::zero();
        for (Int k = 0; k < a.columns; k += 2 * L) {
#pragma GCC unroll 4
          for (int g = 0; g < together; ++g) {
            if (k % columns == 0) fetch_row(row[g] + k);
            const auto v = V::load_words(row[g] + k);
            const Vec even = V::even(v), odd = V::odd(v);
#pragma GCC unroll 4
            for (int t = 0; t < tokens; ++t) {
              s[g][t] = V::fma(even, V::load(x + t * ldx + k), s[g][t]);
              s[g][t] = V::fma(odd, V::load(x + t * ldx + k + L), s[g][t]);
            }
          }
        }
        for (Int g = 0; g < std::min<Int>(together, a.count - first); ++g)
          for (int t = 0; t < tokens; ++t) y[((first + g) * rows + r) * most + t] = V::sum(s[g][t]);
        for (auto& at : row) at += a.columns;
      }
    }
  }

  // x: [features][most]. Widens 16 rows and 32 columns at a time.
  static void rows_by_tokens(const Bf16Rows& a, const float* x, float* y) {
    std::fill_n(y, a.count * rows * most, 0.0f);
    for (Int g = 0; g < a.count; ++g, y += rows * most) {
      // Read next: the next of these groups, or the group after the first one.
      const std::uint16_t* next =
          g + 1 < a.count ? a.groups[g + 1] : a.groups[0] + rows * a.columns;
      const float* of_x = x;
      for (Int k = 0; k < a.columns; k += columns, of_x += columns * most) {
        alignas(64) float wide[bf16_tile_size];  // alternating L even and L odd columns
        for (Int r = 0; r < rows; ++r) {
          const Int at = r * a.columns + k;
          _mm_prefetch(reinterpret_cast<const char*>(next + at), _MM_HINT_T1);
          for (Int i = 0; i < columns; i += 2 * L) {
            const auto v = V::load_words(a.groups[g] + at + i);
            V::store(wide + r * columns + i, V::even(v));
            V::store(wide + r * columns + i + L, V::odd(v));
          }
        }
        add_tile(wide, of_x, y);
      }
    }
  }
  // x: [pairs][W::lanes] pairs of features. Two sums for each group, because dot() takes long.
  template <class W>
  static void rows_by_dot(const Bf16Rows& a, const std::uint16_t* x, float* y) {
    constexpr Int together = bf16_streams, words = 2 * W::lanes;
    const std::uint16_t* row[together];  // the last group is repeated, if there are no more
    for (Int g = 0; g < together; ++g) row[g] = a.groups[std::min(g, a.count - 1)];
    for (Int r = 0; r < rows; ++r) {
      typename W::Vec s[together][2];
      for (auto& of : s)
        for (auto& sum : of) sum = W::zero();
      const std::uint16_t* of_x = x;
      for (Int k = 0; k < a.columns; k += columns) {
        for (const std::uint16_t* at : row) fetch_row(at + k);
        for (Int i = k; i < k + columns; i += 4, of_x += 2 * words) {
          const auto first = W::load_words(of_x), second = W::load_words(of_x + words);
#pragma GCC unroll 4
          for (int g = 0; g < together; ++g) {
            const auto* pairs = reinterpret_cast<const std::uint8_t*>(row[g] + i);
            s[g][0] = W::dot(s[g][0], first, W::load_pair(pairs));
            s[g][1] = W::dot(s[g][1], second, W::load_pair(pairs + 4));
          }
        }
      }
      for (Int g = 0; g < a.count; ++g)
        W::store(y + (g * rows + r) * most, W::add(s[g][0], s[g][1]));
      for (auto& at : row) at += a.columns;
    }
  }

  // Calls f(W) for the vectors that hold the tokens of rows_by_dot().
  template <class F>
  static void with_dot_vectors(Int tokens, F&& f) {
    if (tokens <= 8) return f(typename V::Eight{});
    f(V{});
  }
  static void interleaved_tokens(const Bf16SmallBatch& x, std::uint16_t* to) {
    with_dot_vectors(x.tokens, [&](auto w) {
      constexpr Int words = 2 * decltype(w)::lanes;
      for (Int p = 0; p < x.feature_pairs; ++p, to += words)
        std::fill(std::copy_n(x.at + p * x.stride, 2 * x.tokens, to), to + words, std::uint16_t{0});
    });
  }

  // Adds a widened tile times x to y.
  static void add_tile(const float* wide, const float* x, float* y) {
    constexpr int together = vectors == 1 ? 16 : 4;
    for (Int r0 = 0; r0 < rows; r0 += together) {
      float* const to = y + r0 * most;
      const float* value = wide + r0 * columns;
      Vec s[together][vectors];
#pragma GCC unroll 16
      for (int r = 0; r < together; ++r)
        for (int i = 0; i < vectors; ++i) s[r][i] = V::load(to + r * most + i * L);
      for (Int j = 0; j < columns; ++j) {
        Vec xs[vectors];
        for (int i = 0; i < vectors; ++i) xs[i] = V::load(x + j * most + i * L);
        const float* v = value + j / (2 * L) * 2 * L + j % 2 * L + j % (2 * L) / 2;
#pragma GCC unroll 16
        for (int r = 0; r < together; ++r) {
          const Vec one = V::one(v + r * columns);
          for (int i = 0; i < vectors; ++i) s[r][i] = V::fma(one, xs[i], s[r][i]);
        }
      }
#pragma GCC unroll 16
      for (int r = 0; r < together; ++r)
        for (int i = 0; i < vectors; ++i) V::store(to + r * most + i * L, s[r][i]);
    }
  }

  static void rows_of_features(const Bf16SmallBatch& x, float* room) {
    if (x.tokens < most) std::fill_n(room, 2 * x.feature_pairs * most, 0.0f);
    for (Int p = 0; p < x.feature_pairs; ++p) {
      const std::uint16_t* from = x.at + p * x.stride;
      float* to = room + 2 * p * most;
      for (Int t = 0; t < x.tokens; ++t) {
        to[t] = widen_bf16(from[2 * t]);
        to[most + t] = widen_bf16(from[2 * t + 1]);
      }
    }
  }

 public:
  static void prepare_rows(const Bf16SmallBatch& x, float* room) {
    if (x.tokens > max_scalar_tokens) {
      if constexpr (V::has_dot)
        return interleaved_tokens(x, reinterpret_cast<std::uint16_t*>(room));
      else
        return rows_of_features(x, room);
    }
    if (x.tokens == 1 && x.stride == 2) {
      for (Int p = 0; p < x.feature_pairs; p += L) {
        const auto pairs = V::load_words(x.at + 2 * p);
        V::store(room + 2 * p, V::even(pairs));
        V::store(room + 2 * p + L, V::odd(pairs));
      }
      return;
    }
    for (Int t = 0; t < x.tokens; ++t)
      for (Int p = 0; p < x.feature_pairs; ++p) {
        const std::uint16_t* from = x.at + p * x.stride + 2 * t;
        float* to = room + t * 2 * x.feature_pairs + p / L * 2 * L + p % L;
        to[0] = widen_bf16(from[0]);
        to[L] = widen_bf16(from[1]);
      }
  }
  static void multiply_rows(const Bf16Rows& a, const Bf16SmallBatch& x, const float* room,
                            float* y) {
    const Int ldx = 2 * x.feature_pairs;
    switch (x.tokens) {
      case 1:
        return rows_by_columns<1>(a, room, ldx, y);
      case 2:
        return rows_by_columns<2>(a, room, ldx, y);
      case 3:
        return rows_by_columns<3>(a, room, ldx, y);
      case 4:
        return rows_by_columns<4>(a, room, ldx, y);
      default:
        if constexpr (V::has_dot)
          with_dot_vectors(x.tokens, [&](auto w) {
            rows_by_dot<decltype(w)>(a, reinterpret_cast<const std::uint16_t*>(room), y);
          });
        else
          rows_by_tokens(a, room, y);
    }
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
