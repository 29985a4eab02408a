// The loops of kernels/bf16_few.h where there are no tiles: values are widened in registers, which is
// exact, and multiplied as float32. V has, beside what Floats16 has,
//   load_values(p)   of 2 L numbers of bfloat16, L = V::lanes
//   even(v), odd(v)  half of them as floats
//   sum(v)           of all lanes
//   expand(p, to)    a masked tile, and returns where the next begins
//   most_looked_up   tokens, up to which few_lanes() is faster than tokens in vectors
#pragma once
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/bf16_few.h"
#include "kernels/pairs.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// What is read once comes from far away: so many bytes before it is needed.
inline constexpr std::int64_t bf16_few_ahead = 3072;

template <class V>
class Bf16FewLoops {
  using Int = std::int64_t;
  using Vec = typename V::Vec;
  static constexpr Int L = V::lanes, most = bf16_most_tokens;
  static constexpr Int rows = bf16_tile_rows, columns = bf16_tile_columns;
  static constexpr int vectors = most / L;

  // Up to so many tokens have their features in the lanes of vectors; more are lanes themselves.
  static constexpr Int few = 4;

  static void fetch(const std::uint8_t* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p) + bf16_few_ahead, _MM_HINT_T0);
  }

  // The next tile of the stream, dense.
  static const std::uint16_t* next_tile(const Bf16Tiles& a, const std::uint8_t*& from,
                                        std::uint16_t* tile) {
    if (a.is_masked) {
      for (Int line = 0; line < 8; ++line) fetch(from + line * 64);
      from = V::expand(from, tile);
      return tile;
    }
    const auto* dense = reinterpret_cast<const std::uint16_t*>(from);
    for (Int line = 0; line < 16; ++line) fetch(from + line * 64);
    from += bf16_tile_size * 2;
    return dense;
  }

  // x: for each token [pairs / L][even features, odd features][L].
  template <int tokens>
  static void by_columns(const Bf16Tiles& a, const float* x, Int ldx, float* y) {
    alignas(64) float sums[bf16_block_rows * tokens * L];
    std::fill_n(sums, a.groups * rows * tokens * L, 0.0f);
    alignas(64) std::uint16_t expanded[bf16_tile_size];
    const std::uint8_t* from = a.stream;
    constexpr int parts = columns / (2 * L);
    for (Int k = 0; k < a.columns; ++k, x += columns) {
      Vec xs[tokens][parts][2];
      for (int t = 0; t < tokens; ++t)
        for (int i = 0; i < 2 * parts; ++i) xs[t][i / 2][i % 2] = V::load(x + t * ldx + i * L);
      float* sum = sums;
      for (Int g = 0; g < a.groups; ++g) {
        const std::uint16_t* value = next_tile(a, from, expanded);
        for (Int r = 0; r < rows; ++r, value += columns, sum += tokens * L) {
          Vec s[tokens];
          for (int t = 0; t < tokens; ++t) s[t] = V::load(sum + t * L);
#pragma GCC unroll 2
          for (int i = 0; i < parts; ++i) {
            const auto v = V::load_values(value + 2 * L * i);
            const Vec even = V::even(v), odd = V::odd(v);
            for (int t = 0; t < tokens; ++t) {
              s[t] = V::fma(even, xs[t][i][0], s[t]);
              s[t] = V::fma(odd, xs[t][i][1], s[t]);
            }
          }
          for (int t = 0; t < tokens; ++t) V::store(sum + t * L, s[t]);
        }
      }
    }
    for (Int r = 0; r < a.groups * rows; ++r)
      for (int t = 0; t < tokens; ++t)
        y[r * most + t] = V::sum(V::load(sums + (r * tokens + t) * L));
  }

  // x: [features][most].
  static void by_tokens(const Bf16Tiles& a, const float* x, float* y) {
    std::fill_n(y, a.groups * rows * most, 0.0f);
    alignas(64) std::uint16_t expanded[bf16_tile_size];
    alignas(64) float wide[bf16_tile_size];  // even and odd columns of 2 L in turns
    const std::uint8_t* from = a.stream;
    constexpr int together = vectors == 1 ? 16 : 4;
    for (Int k = 0; k < a.columns; ++k, x += columns * most)
      for (Int g = 0; g < a.groups; ++g) {
        const std::uint16_t* tile = next_tile(a, from, expanded);
        for (Int i = 0; i < bf16_tile_size; i += 2 * L) {
          const auto v = V::load_values(tile + i);
          V::store(wide + i, V::even(v));
          V::store(wide + i + L, V::odd(v));
        }
        for (Int r0 = 0; r0 < rows; r0 += together) {
          float* const to = y + (g * rows + r0) * most;
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
  }

  // x: [features][most], with zeros behind, of which `used` vectors have tokens. Where registers have no
  // room for the sums of all rows, they take turns every few steps, so that x comes from the first-level
  // cache for all but the first.
  template <bool narrow, int used>
  static void lanes_by_tokens(const Bf16Lanes& a, const float* x, float* y) {
    if constexpr (vectors == 1) {
      some_lanes<0, 16, narrow, used>({a.advance, a.steps, 0, a.count}, x, y);
    } else {
      constexpr Int at_once = 16;
      for (Int from = 0; from == 0 || from < a.count; from += at_once) {
        const Steps some{a.advance, a.steps, from, std::min(from + at_once, a.count)};
        if constexpr (used == 1) {
          some_lanes<0, 8, narrow, used>(some, x, y);
          x = some_lanes<8, 8, narrow, used>(some, x, y);
        } else {
          some_lanes<0, 6, narrow, used>(some, x, y);
          some_lanes<6, 6, narrow, used>(some, x, y);
          x = some_lanes<12, 4, narrow, used>(some, x, y);
        }
      }
    }
  }
  struct Steps {
    const std::uint16_t* advance;
    const std::uint8_t* all;
    Int begin, end;
  };
  // Some rows, as many as registers have sums for. Returns x as the last step has it.
  template <int r0, int together, bool narrow, int used>
  static const float* some_lanes(const Steps& a, const float* x, float* y) {
    Vec s[together][used];
#pragma GCC unroll 16
    for (int r = 0; r < together; ++r)
      for (int i = 0; i < used; ++i)
        s[r][i] = a.begin == 0 ? V::zero() : V::load(y + (r0 + r) * most + i * L);
    const std::uint8_t* step =
        a.begin < a.end ? a.all + a.begin * bf16_step_bytes(narrow) : nullptr;
    for (Int n = a.begin; n < a.end; ++n, step += bf16_step_bytes(narrow)) {
      x += a.advance[n] * most;
      if (r0 == 0) {
        fetch(step);
        fetch(step + 64);
      }
      const std::uint8_t* value = step + bf16_place_bytes(narrow) + 4 * r0;
#pragma GCC unroll 16
      for (int r = 0; r < together; ++r) {
        const auto pair = V::one_pair(value + 4 * r);
        const Vec even = V::even(pair), odd = V::odd(pair);
        const float *x0, *x1;
        if constexpr (narrow) {
          const int both = step[r0 + r];
          x0 = x + (both & 15) * most, x1 = x + (both >> 4) * most;
        } else {
          x0 = x + step[2 * (r0 + r)] * most, x1 = x + step[2 * (r0 + r) + 1] * most;
        }
        for (int i = 0; i < used; ++i) {
          s[r][i] = V::fma(even, V::load(x0 + i * L), s[r][i]);
          s[r][i] = V::fma(odd, V::load(x1 + i * L), s[r][i]);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < together; ++r)
      for (int i = 0; i < used; ++i) V::store(y + (r0 + r) * most + i * L, s[r][i]);
    return x;
  }

  // Each token's features are looked up: for few tokens.
  template <int most_tokens, bool narrow>
  static void looked_up(Int tokens, const Bf16Lanes& a, const typename V::Column* x, Int ldx,
                        float* y) {
    if constexpr (most_tokens > 1)
      if (tokens < most_tokens) return looked_up<most_tokens - 1, narrow>(tokens, a, x, ldx, y);
    V::template few_lanes<most_tokens, narrow>(a, x, ldx, y);
  }

  static void rows_of_features(const Bf16Few& x, float* room) {
    if (x.tokens < most) std::fill_n(room, 2 * x.pairs * most, 0.0f);
    for (Int p = 0; p < x.pairs; ++p) {
      const std::uint16_t* from = x.at + p * x.stride;
      float* to = room + 2 * p * most;
      for (Int t = 0; t < x.tokens; ++t) {
        to[t] = widen_bf16(from[2 * t]);
        to[most + t] = widen_bf16(from[2 * t + 1]);
      }
    }
  }

 public:
  static void prepare_tiles(const Bf16Few& x, float* room) {
    if (x.tokens > few) return rows_of_features(x, room);
    for (Int t = 0; t < x.tokens; ++t)
      for (Int p = 0; p < x.pairs; ++p) {
        const std::uint16_t* from = x.at + p * x.stride + 2 * t;
        float* to = room + t * 2 * x.pairs + p / L * 2 * L + p % L;
        to[0] = widen_bf16(from[0]);
        to[L] = widen_bf16(from[1]);
      }
  }
  static void multiply_tiles(const Bf16Tiles& a, const Bf16Few& x, const float* room, float* y) {
    const Int ldx = 2 * x.pairs;
    switch (x.tokens) {
      case 1:
        return by_columns<1>(a, room, ldx, y);
      case 2:
        return by_columns<2>(a, room, ldx, y);
      case 3:
        return by_columns<3>(a, room, ldx, y);
      case 4:
        return by_columns<4>(a, room, ldx, y);
      default:
        return by_tokens(a, room, y);
    }
  }
  static void prepare_lanes(const Bf16Few& x, float* room) {
    if (x.tokens > V::most_looked_up) {
      rows_of_features(x, room);
      std::fill_n(room + 2 * x.pairs * most, bf16_window * most, 0.0f);
      return;
    }
    const Int ldx = 2 * x.pairs + bf16_window;
    auto* columns_of = reinterpret_cast<typename V::Column*>(room);
    for (Int t = 0; t < x.tokens; ++t, columns_of += ldx) {
      for (Int k = 0; k < 2 * x.pairs; ++k)
        columns_of[k] = V::column(x.at[k / 2 * x.stride + 2 * t + k % 2]);
      std::fill_n(columns_of + 2 * x.pairs, bf16_window, V::column(0));
    }
  }
  static void multiply_lanes(const Bf16Lanes& a, const Bf16Few& x, const float* room, float* y) {
    const Int ldx = 2 * x.pairs + bf16_window;
    const auto* columns_of = reinterpret_cast<const typename V::Column*>(room);
    const auto of = [&]<bool narrow>(std::bool_constant<narrow>) {
      if (x.tokens > V::most_looked_up)
        return x.tokens > L ? lanes_by_tokens<narrow, vectors>(a, room, y)
                            : lanes_by_tokens<narrow, 1>(a, room, y);
      looked_up<V::most_looked_up, narrow>(x.tokens, a, columns_of, ldx, y);
    };
    a.is_narrow ? of(std::true_type{}) : of(std::false_type{});
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
