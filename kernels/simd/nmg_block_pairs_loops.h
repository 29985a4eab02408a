// SPDX-License-Identifier: Apache-2.0
// Block products of 1:m:g for block pairs in vectors (kernels/nmg_gemm.h): a row of B that both
// blocks multiply is loaded once.
//
// L extends the lanes of NmgSums by in_register(v): v, loaded once. `pair_vectors` vectors of a row
// of C are computed at a time, for m <= max_block_pair_m, so that the sums of m + 1 rows, and a row
// of B, fit in registers.
#pragma once
#include <array>
#include <utility>

#include "kernels/simd/nmg_sums.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

template <class L>
class NmgBlockPairs : NmgSums<L> {
  using Base = NmgSums<L>;
  using Base::ask;
  using Base::from_slab;
  using Base::panel;
  using typename Base::Int;
  using typename Base::Offset;
  using typename Base::Vec;
  static constexpr Int pair_vectors =
      L::pair_vectors < panel / L::lanes ? L::pair_vectors : panel / L::lanes;

  // The sums of all rows of the second block stay in registers, together with those of one row of
  // the first block at a time.
  template <int m>
  static void paired(Int blocks, Int steps, const std::uint16_t* shared, const Offset* offsets,
                     const float* values, const float* slab, bool more, float* c, NmgFetch& fetch) {
    static constexpr auto rows = [] {
      std::array<Int, m> r{};
      for (int i = 0; i < m; ++i) r[i] = i;
      return r;
    }();
    // A sum depends on the previous one, so short rows alternate between several sums.
    constexpr int chains = pair_vectors >= 4 ? 1 : pair_vectors >= 2 ? 2 : m;
    // With few FMAs per value, loads of values limit the speed.
    constexpr bool in_fours = pair_vectors < 4;
    using Row = typename Base::template Sums<1, pair_vectors>;
    using From = typename Base::template Fours<1, 2 * m>;
    const auto value = [](From& from, auto at)
                           STEN_INLINE { return from.template value<decltype(at)::value, 0>(); };
    const auto shared_value = [](From& from, auto at) STEN_INLINE {
      constexpr std::size_t i = decltype(at)::value;
      if constexpr (in_fours)
        return from.template value<i, 0>();
      else
        return L::one(from.values + i);
    };
    const auto add = [](Vec v, const float* b, Vec(&to)[pair_vectors]) STEN_INLINE {
      each<pair_vectors>([&](auto q)
                             STEN_INLINE { to[q] = L::fma(v, L::load(b + q * L::lanes), to[q]); });
    };
    const Int rest = steps % m;
    for (; blocks > 1; blocks -= 2, ++shared) {
      ask(fetch);
      ask(fetch);
      for (Int i = 0; i < 2 * m * panel; i += NmgFetch::line)  // prefetches C of the next pair
        __builtin_prefetch(c + 2 * m * panel + i);
      for (Int column = 0; column < panel; column += pair_vectors * L::lanes) {
        const float *from = slab + column, *v = values;
        const Offset* o = offsets;
        typename Base::template Sums<m, pair_vectors> second;
        if (more)
          second.load(c + m * panel + column, rows.data());
        else
          second.clear();
#pragma GCC unroll 1
        for (Int i = 0; i < m; ++i) {
          Row first[chains];
          each<chains>([&](auto way) STEN_INLINE { first[way].clear(); });
          if (more) first[0].load(c + i * panel + column, rows.data());
          for (Int k = *shared; k > 0; --k, o += m, v += 2 * m) {
            From next{o, v, 0, L::zero()};
            each<m>([&](auto j) STEN_INLINE {
              constexpr std::size_t at = decltype(j)::value;
              const float* row = next.template row<at>(from);
              const Vec one = shared_value(next, std::integral_constant<std::size_t, 2 * at>{});
              const Vec other =
                  shared_value(next, std::integral_constant<std::size_t, 2 * at + 1>{});
              each<pair_vectors>([&](auto q) STEN_INLINE {
                const Vec b = L::in_register(L::load(row + q * L::lanes));
                first[at % chains].of[0][q] = L::fma(one, b, first[at % chains].of[0][q]);
                second.of[at][q] = L::fma(other, b, second.of[at][q]);
              });
            });
          }
          for (Int k = steps / m - *shared; k > 0; --k, o += 2 * m, v += 2 * m) {
            From next{o, v, 0, L::zero()};
            each<m>([&](auto j) STEN_INLINE {
              constexpr std::size_t at = decltype(j)::value, one = 2 * at, other = one + 1;
              add(value(next, std::integral_constant<std::size_t, one>{}),
                  next.template row<one>(from), first[at % chains].of[0]);
              add(value(next, std::integral_constant<std::size_t, other>{}),
                  next.template row<other>(from), second.of[at]);
            });
          }
          for (Int k = rest; k > 0; --k) add(L::one(v++), from_slab(from, *o++), first[0].of[0]);
          each<chains - 1>([&](auto way) STEN_INLINE { first[0].add(first[way + 1]); });
          first[0].store(c + i * panel + column, rows.data());
        }
        if (rest > 0)
          each<m>([&](auto j) STEN_INLINE {
            for (Int k = rest; k > 0; --k) add(L::one(v++), from_slab(from, *o++), second.of[j]);
          });
        second.store(c + m * panel + column, rows.data());
      }
      offsets += 2 * steps * m;
      values += 2 * steps * m;
      c += 2 * m * panel;
    }
  }

  using BlockPairKernel = void(Int, Int, const std::uint16_t*, const Offset*, const float*,
                               const float*, bool, float*, NmgFetch&);
  // The kernel of 1:m is at index m - 2.
  template <std::size_t... i>
  static constexpr std::array<BlockPairKernel*, L::max_block_pair_m - 1> block_pair_table(
      std::index_sequence<i...>) {
    return {&paired<static_cast<int>(i) + 2>...};
  }

 public:
  // Runs all block pairs, which leaves at most one block.
  static void run(const NmgRows& rows, NmgSlabStrips& strips, Int& blocks, const float* slab,
                  bool more, float*& c, NmgFetch& fetch) {
    static constexpr auto table =
        block_pair_table(std::make_index_sequence<L::max_block_pair_m - 1>{});
    if (!strips.shared) return;
    table[rows.m - 2](blocks, strips.steps, strips.shared, strips.offsets, strips.values, slab,
                      more, c, fetch);
    const Int done = blocks / 2 * 2, count = done * strips.steps * rows.m;
    blocks -= done;
    strips.offsets += count, strips.values += count;
    c += done * rows.m * panel;
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
