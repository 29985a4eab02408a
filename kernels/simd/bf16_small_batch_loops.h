// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/bf16_small_batch.h for lanes and strips: values are widened in registers,
// exactly, and multiplied as float32. V extends Bf16Interleaved16 by
//   sum(v)               of all lanes
//   most_looked_up       maximum number of tokens for which small_batch_step() is faster than
//                        vectors of tokens, for narrow and other lanes
//   small_batch_step()   adds a step in lanes to SmallBatchSums, with features in Columns
//   store_offsets(p, v)  upper bytes of words: of the lower words to p, of the upper ones to p + 32
//   gathers              whether small_batch_step() supports far lanes
//   most_sums            vectors that fit in registers beside the factors
//   Eight                such vectors of 8 lanes
#pragma once
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/bf16_small_batch.h"
#include "kernels/interleaved.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// Prefetch distances in bytes of the weight, which is read once. The distance of lanes is for each
// of the groups that are read side by side.
inline constexpr std::int64_t bf16_strips_ahead = 3072, bf16_lanes_ahead = 256;

template <class V>
class Bf16SmallBatchLoops {
  using Int = std::int64_t;
  using Vec = typename V::Vec;
  static constexpr Int L = V::lanes, most = bf16_most_tokens;
  static constexpr Int rows = bf16_tile_rows;
  static constexpr int vectors = most / L;

  static void fetch(const void* p) {
    _mm_prefetch(static_cast<const char*>(p) + bf16_strips_ahead, _MM_HINT_T0);
  }

  // Progress in a group of lanes. The groups alternate after one or a few steps, so that x stays in
  // L1.
  template <class X>
  struct LaneCursor {
    const std::uint16_t* advance;
    const std::uint8_t* step;
    Int left;
    const X* x;

    LaneCursor(const Bf16Lanes& a, const X* first)
        : advance(a.advance), step(a.steps), left(a.count), x(first) {}
    static constexpr void fetch(const std::uint8_t* p) {
      _mm_prefetch(reinterpret_cast<const char*>(p) + bf16_lanes_ahead, _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(p) + bf16_lanes_ahead + 64, _MM_HINT_T0);
    }
  };
  template <class X>
  using LaneCursors = std::array<LaneCursor<X>, bf16_streams>;
  template <class X>
  static LaneCursors<X> begin_lanes(const Bf16Lanes* a, Int groups, const X* x) {
    return {{{a[0], x},
             {a[groups > 1 ? 1 : 0], x},
             {a[groups > 2 ? 2 : 0], x},
             {a[groups > 3 ? 3 : 0], x}}};
  }
  // Calls take(group, cursor, whether it is the group's first call) until no group has steps left,
  // but at least once per group.
  template <class X, class F>
  static void interleave_lanes(LaneCursors<X>& cursors, Int groups, F&& take) {
    bool more = true;
    for (bool first = true; more; first = false) {
      more = false;
      for (Int g = 0; g < groups; ++g) {
        if (first || cursors[g].left > 0) take(g, cursors[g], first);
        more = more || cursors[g].left > 0;
      }
    }
  }

  // x: [features][width], width = used * W::lanes. The steps per turn are such that x stays in L1.
  template <class W, int used, bool narrow>
  static void lanes_by_tokens(const Bf16Lanes* a, Int groups, Int features, const float* x,
                              float* y) {
    constexpr Int row_bytes = used * W::lanes * sizeof(float), round_bytes = Int{16} << 10;
    const Int of_step = features * row_bytes / std::max<Int>(a->count, 1);
    const Int steps = std::clamp<Int>(round_bytes / std::max<Int>(of_step, 1), 4, 32);
    LaneCursors<float> cursors = begin_lanes(a, groups, x);
    interleave_lanes(cursors, groups, [&](Int g, LaneCursor<float>& turn, bool first) {
      const Int count = std::min(steps, turn.left);
      turn.x = rows_of_lanes<W, used, narrow, 0>(turn, count, first, y + g * rows * most);
      turn.advance += count, turn.left -= count;
      turn.step += count * bf16_step_bytes(narrow);
    });
  }
  // Divides the rows into parts whose sums fit in registers. Returns x as of the last step.
  template <class W, int used, bool narrow, int part>
  static const float* rows_of_lanes(const LaneCursor<float>& turn, Int count, bool first,
                                    float* y) {
    constexpr int parts = (16 * used + V::most_sums - 1) / V::most_sums,
                  all = parts > 1 ? parts : 1;
    constexpr int r0 = part * 16 / all, end = (part + 1) * 16 / all;
    const float* x = some_lanes<W, used, narrow, r0, end - r0>(turn, count, first, y);
    if constexpr (part + 1 < all)
      return rows_of_lanes<W, used, narrow, part + 1>(turn, count, first, y);
    else
      return x;
  }
  template <class W, int used, bool narrow, int r0, int together>
  static const float* some_lanes(const LaneCursor<float>& turn, Int count, bool first, float* y) {
    using Sum = typename W::Vec;
    constexpr int row_bytes = used * W::lanes * sizeof(float);
    const auto at = [&](int r, int i) {
      return y + (r0 + r) * most + i * W::lanes / most * bf16_block_sums + i * W::lanes % most;
    };
    Sum s[together][used];
#pragma GCC unroll 16
    for (int r = 0; r < together; ++r)
      for (int i = 0; i < used; ++i) s[r][i] = first ? W::zero() : W::load(at(r, i));
    const std::uint8_t* step = turn.step;
    const auto* x = reinterpret_cast<const std::uint8_t*>(turn.x);
    for (Int n = 0; n < count; ++n, step += bf16_step_bytes(narrow)) {
      x += turn.advance[n] * row_bytes;
      if (r0 == 0) turn.fetch(step);
      // The columns of four rows are loaded at once, because loads limit the speed.
      std::uint64_t positions = 0;
#pragma GCC unroll 16
      for (int r = 0; r < together; ++r) {
        constexpr int bits = narrow ? 4 : 8;
        if (r % 4 == 0) std::memcpy(&positions, step + (r0 + r) * bits / 4, bits);
        // The shift after which a rotation and a mask give byte offsets of rows of x.
        constexpr int shift = std::countr_zero(static_cast<unsigned>(row_bytes));
        constexpr std::uint64_t mask = ((1u << bits) - 1) * row_bytes;
        const auto row = [&](int k) {
          return reinterpret_cast<const float*>(
              x + (std::rotr(positions, (2 * (r % 4) + k) * bits - shift) & mask));
        };
        const float *x0 = row(0), *x1 = row(1);
        const auto pair = W::load_pair(step + bf16_column_bytes(narrow) + 4 * (r0 + r));
        const Sum even = W::even(pair), odd = W::odd(pair);
        for (int i = 0; i < used; ++i) {
          s[r][i] = W::fma(even, W::load(x0 + i * W::lanes), s[r][i]);
          s[r][i] = W::fma(odd, W::load(x1 + i * W::lanes), s[r][i]);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < together; ++r)
      for (int i = 0; i < used; ++i) W::store(at(r, i), s[r][i]);
    return reinterpret_cast<const float*>(x);
  }

  // Takes the steps that all groups have, each in turn, with the sums in registers: on Zen 4, four
  // streams that alternate after a line arrive faster than after several.
  template <bool narrow, class Column, class Sums>
  static void step_together(LaneCursors<Column>& cursors, Int ldx, Sums* sums) {
    Int count = cursors[0].left;
    for (const LaneCursor<Column>& c : cursors) count = std::min(count, c.left);
    LaneCursors<Column> at = cursors;
    Sums own[bf16_streams]{sums[0], sums[1], sums[2], sums[3]};
    for (Int n = 0; n < count; ++n) {
#pragma GCC unroll 4
      for (int g = 0; g < bf16_streams; ++g) {
        at[g].x += at[g].advance[n];
        at[g].fetch(at[g].step);
        V::template small_batch_step<narrow>(at[g].step, at[g].x, ldx, own[g]);
        at[g].step += bf16_step_bytes(narrow);
      }
    }
    for (LaneCursor<Column>& c : at) c.advance += count, c.left -= count;
    cursors = at;
    std::copy_n(own, bf16_streams, sums);
  }

  // Looks up the features of each token in registers, for small batches.
  template <int tokens, bool narrow, class Column>
  static void looked_up(const Bf16Lanes* a, Int groups, const Column* x, Int ldx, float* y) {
    constexpr Int steps = tokens > 4 ? 16 : 8;
    using Sums = typename V::template SmallBatchSums<tokens>;
    Sums sums[bf16_streams];
    for (Sums& sum : sums)
      for (auto& half : sum.of)
        for (Vec& s : half) s = V::zero();
    LaneCursors<Column> cursors = begin_lanes(a, groups, x);
    if constexpr (sizeof sums <= V::most_sums * sizeof(Vec))
      if (groups == bf16_streams) step_together<narrow>(cursors, ldx, sums);
    interleave_lanes(cursors, groups, [&](Int g, LaneCursor<Column>& turn, bool) {
      auto sum = sums[g];
      const Int count = std::min(steps, turn.left);
      for (Int n = 0; n < count; ++n, turn.step += bf16_step_bytes(narrow)) {
        turn.x += turn.advance[n];
        turn.fetch(turn.step);
        V::template small_batch_step<narrow>(turn.step, turn.x, ldx, sum);
      }
      turn.advance += count, turn.left -= count;
      sums[g] = sum;
    });
    for (Int g = 0; g < groups; ++g) sums[g].write(y + g * rows * most);
  }
  template <int most_tokens, bool narrow, class Column>
  static void find_looked_up(Int tokens, const Bf16Lanes* a, Int groups, const Column* x, Int ldx,
                             float* y) {
    if constexpr (most_tokens > 1)
      if (tokens < most_tokens)
        return find_looked_up<most_tokens - 1, narrow>(tokens, a, groups, x, ldx, y);
    looked_up<most_tokens, narrow>(a, groups, x, ldx, y);
  }
  // Features by token, [tokens][ldx], with zeros up to the end of the last window.
  template <class Column>
  static void columns_of_tokens(const Bf16SmallBatch& x, Column (*column)(std::uint16_t),
                                Column* to) {
    if (x.tokens == 1 && x.stride == 2) {
      for (Int k = 0; k < 2 * x.feature_pairs; ++k) to[k] = column(x.at[k]);
      std::fill_n(to + 2 * x.feature_pairs, bf16_window, Column{0});
      return;
    }
    for (Int t = 0; t < x.tokens; ++t) {
      for (Int p = 0; p < x.feature_pairs; ++p)
        for (Int k = 0; k < 2; ++k) *to++ = column(x.at[p * x.stride + 2 * t + k]);
      to = std::fill_n(to, bf16_window, Column{0});
    }
  }

  // Rows of used * W::lanes tokens, with zeros after the last token.
  template <class W, int used>
  static void rows_of_tokens(const Bf16SmallBatch& x, float* to) {
    constexpr Int lanes = W::lanes;
    if (x.tokens == 1) {  // vectors of tokens might end after x
      for (Int k = 0; k < 2 * x.feature_pairs; ++k, to += used * lanes) {
        for (int i = 0; i < used; ++i) W::store(to + i * lanes, W::zero());
        *to = widen_bf16(x.at[k / 2 * x.stride + k % 2]);
      }
      return;
    }
    alignas(64) std::int32_t token_mask[used * lanes];
    for (Int t = 0; t < used * lanes; ++t) token_mask[t] = t < x.tokens ? -1 : 0;
    for (Int p = 0; p < x.feature_pairs; ++p, to += 2 * used * lanes)
      for (int i = 0; i < used; ++i) {
        const auto v = W::both(W::load_words(x.at + p * x.stride + 2 * i * lanes),
                               W::load_words(token_mask + i * lanes));
        W::store(to + i * lanes, W::even(v));
        W::store(to + (used + i) * lanes, W::odd(v));
      }
  }
  // Calls f(W, used) for the least number of vectors that hold the tokens.
  template <class F>
  static void with_width(Int tokens, F&& f) {
    using One = std::integral_constant<int, 1>;
    if (tokens <= 8) return f(typename V::Eight{}, One{});
    if (tokens <= most) return f(V{}, std::integral_constant<int, vectors>{});
    f(V{}, std::integral_constant<int, 2 * vectors>{});
  }

 public:
  static void prepare_lanes(const Bf16SmallBatch& x, bool is_narrow, float* room) {
    if (x.tokens > V::most_looked_up(is_narrow))
      return with_width(x.tokens, [&](auto w, auto used) {
        rows_of_tokens<decltype(w), decltype(used)::value>(x, room);
      });
    const auto of = [&]<bool narrow>(std::bool_constant<narrow>) {
      using Column = typename V::template Column<narrow>;
      columns_of_tokens<Column>(x, V::template column<narrow>, reinterpret_cast<Column*>(room));
    };
    is_narrow ? of(std::true_type{}) : of(std::false_type{});
  }
  static void multiply_lanes(const Bf16Lanes* a, Int groups, const Bf16SmallBatch& x,
                             const float* room, float* y) {
    const auto of = [&]<bool narrow>(std::bool_constant<narrow>) {
      constexpr int most_looked_up = V::most_looked_up(narrow);
      if (x.tokens > most_looked_up)
        return with_width(x.tokens, [&](auto w, auto used) {
          lanes_by_tokens<decltype(w), decltype(used)::value, narrow>(a, groups,
                                                                      2 * x.feature_pairs, room, y);
        });
      find_looked_up<most_looked_up, narrow>(
          x.tokens, a, groups, reinterpret_cast<const typename V::template Column<narrow>*>(room),
          2 * x.feature_pairs + bf16_window, y);
    };
    a->is_narrow ? of(std::true_type{}) : of(std::false_type{});
  }
  static bool looks_up(Int tokens, bool is_narrow) {
    return (is_narrow || !V::gathers) && tokens <= V::most_looked_up(is_narrow);
  }

  static void widen_tokens(const Bf16SmallBatch& x, float* rows) {
    with_width(x.tokens, [&](auto w, auto used) {
      rows_of_tokens<decltype(w), decltype(used)::value>(x, rows);
    });
  }
  static void widen_strips(const Bf16Strips& a, std::uint16_t* offsets, float* values) {
    constexpr Int line = 64;
    const std::uint8_t* from = a.stream;
    for (Int i = 0; i < a.strips; i += 64, from += line, offsets += 64) {
      fetch(from);
      for (Int j = 0; j < line; j += 4 * L)
        V::store_offsets(offsets + j / 2, V::load_words(from + j));
    }
    for (Int i = 0; i < a.values; i += 32, from += line, values += 32) {
      fetch(from);
      for (Int j = 0; j < 16; j += L) {
        const auto v = V::load_words(from + 4 * j);
        V::store(values + j, V::even(v));
        V::store(values + 16 + j, V::odd(v));
      }
    }
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
