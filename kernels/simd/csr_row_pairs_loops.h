// SPDX-License-Identifier: Apache-2.0
// Products of pairs of sparse rows in vectors, with lanes as in kernels/simd/csr_loops.h, and
// in_register(v): v, loaded once. Each row alternates between `row_pair_sets` sets of sums, as many
// as fit in registers, because a sum depends on the previous one.
#pragma once
#include "kernels/csr.h"
#include "kernels/simd/each.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

template <class L>
class CsrRowPairsLoops {
  using Vec = typename L::Vec;
  using Int = std::int64_t;
  static constexpr int width = L::width(2);
  static constexpr int step = width * L::lanes;
  static constexpr int line = 16;  // floats per cache line

  struct Sums {
    Vec of[width];

    STEN_INLINE void load(const float* c) {
      each<width>([&](auto j) STEN_INLINE { of[j] = L::load(c + j * L::lanes); });
    }
    STEN_INLINE void store(float* c) const {
      each<width>([&](auto j) STEN_INLINE { L::store(c + j * L::lanes, of[j]); });
    }
    STEN_INLINE void clear() {
      each<width>([&](auto j) STEN_INLINE { of[j] = L::zero(); });
    }
    STEN_INLINE void add(const Sums& more) {
      each<width>([&](auto j) STEN_INLINE { of[j] = L::add(of[j], more.of[j]); });
    }
    STEN_INLINE void add(Vec value, const float* b) {
      each<width>([&](auto j)
                      STEN_INLINE { of[j] = L::fma(value, L::load(b + j * L::lanes), of[j]); });
    }
  };
  STEN_INLINE static void add(Sums* sums, Vec value0, Vec value1, const float* b) {
    each<width>([&](auto j) STEN_INLINE {
      const Vec in = L::in_register(L::load(b + j * L::lanes));
      sums[0].of[j] = L::fma(value0, in, sums[0].of[j]);
      sums[1].of[j] = L::fma(value1, in, sums[1].of[j]);
    });
  }

  // Loads of values and columns cost as much as loads of B, so four are loaded at once. other:
  // index of the second set of sums; 0: only one set.
  template <std::size_t other>
  STEN_INLINE static void add(const CsrRowPair& pair, const std::uint16_t* columns,
                              const float* values, const float* slab, Sums* sums) {
    const auto row = [&](std::uint64_t r) STEN_INLINE { return slab + r * panel_width; };
    for (Int e = 0; e < pair.both; e += 2, columns += 2, values += 4) {
      const Vec v = L::four(values);
      std::uint32_t rows;
      __builtin_memcpy(&rows, columns, sizeof rows);
      add(sums, L::template broadcast_lane<0>(v), L::template broadcast_lane<1>(v),
          row(rows & 0xffff));
      add(sums + other, L::template broadcast_lane<2>(v), L::template broadcast_lane<3>(v),
          row(rows >> 16));
    }
    Int e = 0;
    for (; e + 2 <= pair.each; e += 2, columns += 4, values += 4) {
      const Vec v = L::four(values);
      std::uint64_t rows;
      __builtin_memcpy(&rows, columns, sizeof rows);
      each<4>([&](auto i) STEN_INLINE {
        constexpr std::size_t at = decltype(i)::value;
        sums[at < 2 ? at : at - 2 + other].add(L::template broadcast_lane<at>(v),
                                               row(rows >> 16 * at & 0xffff));
      });
    }
    if (e < pair.each) {
      sums[0].add(L::one(values), row(columns[0]));
      sums[1].add(L::one(values + 1), row(columns[1]));
      columns += 2;
      values += 2;
    }
    for (e = 0; e < pair.rest; ++e) sums[0].add(L::one(values + e), row(columns[e]));
  }

 public:
  static void multiply(const CsrRowPairs& all, const float* slab, float* c) {
    const std::uint16_t* columns = all.columns;
    const float* values = all.values;
    for (const CsrRowPair *pair = all.row_pairs, *const end = pair + all.count; pair < end;
         ++pair) {
      float* const c0 = c + pair->rows[0] * panel_width;
      float* const c1 = c + pair->rows[1] * panel_width;
      // Prefetches C of the next pair, because a pair is too long for the processor to look ahead
      // to it.
      if (pair + 1 < end)
        for (const std::uint16_t row : pair[1].rows)
          for (int at = 0; at < panel_width; at += line)
            __builtin_prefetch(c + row * panel_width + at, 1);
      // Short rows overlap with the next pair and need one set.
      const auto multiply_with = [&](auto other) STEN_INLINE {
        for (int at = 0; at < panel_width; at += step) {
          Sums sums[2 + other];
          sums[0].load(c0 + at);
          sums[1].load(c1 + at);
          each<other>([&](auto i) STEN_INLINE { sums[i + other].clear(); });
          add<other>(*pair, columns, values, slab + at, sums);
          each<other>([&](auto i) STEN_INLINE { sums[i].add(sums[i + other]); });
          sums[0].store(c0 + at);
          sums[1].store(c1 + at);
        }
      };
      if (L::row_pair_sets > 1 && pair->both + pair->each >= 24)
        multiply_with(std::integral_constant<std::size_t, 2 * (L::row_pair_sets - 1)>{});
      else
        multiply_with(std::integral_constant<std::size_t, 0>{});
      columns += pair->both + 2 * pair->each + pair->rest;
      values += 2 * (pair->both + pair->each) + pair->rest;
    }
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
