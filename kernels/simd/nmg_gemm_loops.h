// SPDX-License-Identifier: Apache-2.0
// Block products of n:m:g in vectors, for any n and m.
//
// L extends the lanes of NmgSums and NmgBlockPairs by the numbers of sums that fit in registers
// beside a row of B: sorted by pattern, `part` vectors of up to `most` rows of C; interleaved,
// `whole_part` vectors of all rows for m <= most_whole, and with n = 1 `part` vectors of up to
// `most_ones` rows.
#pragma once
#include <array>
#include <cstddef>
#include <utility>

#include "kernels/sanitized.h"
#include "kernels/simd/nmg_block_pairs_loops.h"
#include "kernels/simd/nmg_sums.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// Maximum m of interleaved products with n > 1. Less in sanitized builds, which take minutes to
// compile for m > 4.
inline constexpr int nmg_most_whole = is_sanitized ? 4 : 6;

constexpr std::size_t choose(std::size_t m, std::size_t n) {
  std::size_t c = 1;
  for (std::size_t i = 1; i <= n; ++i) c = c * (m - n + i) / i;
  return c;
}

// Row i of pattern p of n:m, in lexicographic order.
template <int n, int m>
constexpr auto patterns_of() {
  std::array<std::array<int, n>, choose(m, n)> all{};
  std::array<int, n> next{};
  for (int i = 0; i < n; ++i) next[i] = i;
  for (auto& pattern : all) {
    pattern = next;
    int i = n - 1;
    while (i >= 0 && next[i] == m - n + i) --i;
    if (i < 0) break;
    for (++next[i++]; i < n; ++i) next[i] = next[i - 1] + 1;
  }
  return all;
}

template <class L>
class NmgBlocks : NmgSums<L> {
  using Base = NmgSums<L>;
  using Base::ask;
  using Base::from_slab;
  using Base::panel;
  using typename Base::Int;
  using typename Base::Offset;
  using typename Base::Vec;
  template <int n, int width>
  using Sums = typename Base::template Sums<n, width>;
  template <int n, std::size_t strips>
  using Fours = typename Base::template Fours<n, strips>;
  static constexpr Int part = L::part < panel / L::lanes ? L::part : panel / L::lanes;
  static constexpr Int whole_part = L::whole_part < part ? L::whole_part : part;

  // Adds a strip to the sums of rows row(0), row(1), ...
  template <int n, int width, class S, class F, class R>
  STEN_INLINE static void strip(const float* b, S& sums, F&& value, R&& row) {
    if constexpr (n == 1) {  // B is a memory operand of the FMA
      constexpr std::integral_constant<std::size_t, 0> first{};
      const Vec v = value(first);
      Vec* to = sums.of[row(first)];
      each<width>([&](auto j) STEN_INLINE { to[j] = L::fma(v, L::load(b + j * L::lanes), to[j]); });
    } else {
      Vec in[width];
      each<width>([&](auto j) STEN_INLINE { in[j] = L::load(b + j * L::lanes); });
      each<n>([&](auto i) STEN_INLINE {
        const Vec v = value(i);
        Vec* to = sums.of[row(i)];
        each<width>([&](auto j) STEN_INLINE { to[j] = L::fma(v, in[j], to[j]); });
      });
    }
  }

  // n of the `all` rows of the strips of one pattern.
  template <int n>
  STEN_INLINE static void run(Int count, const Offset* offsets, const float* values, Int all,
                              const float* slab, Sums<n, part>& sums) {
    const auto same = [](auto i) STEN_INLINE { return decltype(i)::value; };
    Int e = 0;
    if (all == n) {
      const auto four = [&](Sums<n, part>& even, Sums<n, part>& odd) STEN_INLINE {
        Fours<n, 4> from{offsets + e, values + e * n, 0, L::zero()};
        each<4>([&](auto c) STEN_INLINE {
          constexpr std::size_t column = decltype(c)::value;
          strip<n, part>(
              from.template row<column>(slab), column % 2 ? odd : even,
              [&](auto i) STEN_INLINE { return from.template value<column, decltype(i)::value>(); },
              same);
        });
        e += 4;
      };
      // A sum depends on the previous one, so long runs of few rows use two sums; short runs
      // overlap with the next run.
      if constexpr (n * part < 12 && 2 * n <= L::most)
        if (count >= 16) {
          Sums<n, part> more;
          more.clear();
          while (e + 4 <= count) four(sums, more);
          sums.add(more);
        }
      while (e + 4 <= count) four(sums, sums);
    }
    for (; e < count; ++e)
      strip<n, part>(
          from_slab(slab, offsets[e]), sums,
          [&](auto i) STEN_INLINE { return L::one(values + e * all + i); }, same);
  }

  // The rows i0 to i0 + n of every pattern of a row block.
  template <int n>
  static void sorted(Int i0, const NmgRows& rows, const NmgSlabStrips& strips, const float* slab,
                     bool more, float* c) {
    const Offset* offsets = strips.offsets;
    const float* values = strips.values + i0;
    const std::uint16_t* pattern = rows.patterns + i0;
    for (Int p = 0; p < rows.count; ++p, pattern += rows.n) {
      const Int count = strips.counts[p];
      Int of[n];
      each<n>([&](auto i) STEN_INLINE { of[i] = pattern[i]; });
      Sums<n, part> sums;
      if (more)
        sums.load(c, of);
      else
        sums.clear();
      run<n>(count, offsets, values, rows.n, slab, sums);
      sums.store(c, of);
      offsets += count;
      values += count * rows.n;
    }
  }

  // Blocks of m rows with interleaved patterns of n rows.
  template <int n, int m, int width>
  static void interleaved(Int blocks, Int steps, const Offset* offsets, const float* values,
                          const float* slab, bool more, float* c, NmgFetch& fetch) {
    static constexpr auto patterns = patterns_of<n, m>();
    static constexpr auto rows = [] {
      std::array<Int, m> r{};
      for (int i = 0; i < m; ++i) r[i] = i;
      return r;
    }();
    for (; blocks > 0; --blocks) {
      ask(fetch);
      // Prefetches C of the next block. With n = 1 loads limit the speed, and prefetching costs
      // more than it gains.
      if constexpr (n > 1)
        for (Int i = 0; i < m * panel; i += NmgFetch::line) __builtin_prefetch(c + m * panel + i);
      for (Int j = 0; j < panel; j += width * L::lanes) {
        Sums<m, width> sums, odd;
        if (more)
          sums.load(c + j, rows.data());
        else
          sums.clear();
        Fours<n, patterns.size()> from{offsets, values, 0, L::zero()};
        const auto step = [&](auto& to) STEN_INLINE {
          each<patterns.size()>([&](auto p) STEN_INLINE {
            constexpr std::size_t at = decltype(p)::value;
            strip<n, width>(
                from.template row<at>(slab + j), to,
                [&](auto i) STEN_INLINE { return from.template value<at, decltype(i)::value>(); },
                [](auto i) STEN_INLINE { return patterns[at][decltype(i)::value]; });
          });
          from.offsets += patterns.size();
          from.values += patterns.size() * n;
        };
        Int left = steps;
        if constexpr (m * width < 8) {  // a sum depends on the previous one
          odd.clear();
          for (; left >= 2; left -= 2) {
            step(sums);
            step(odd);
          }
          sums.add(odd);
        }
        for (; left > 0; --left) step(sums);
        sums.store(c + j, rows.data());
      }
      offsets += steps * patterns.size();
      values += steps * patterns.size() * n;
      c += m * panel;
    }
  }

  using Sorted = void(Int, const NmgRows&, const NmgSlabStrips&, const float*, bool, float*);
  using Interleaved = void(Int, Int, const Offset*, const float*, const float*, bool, float*,
                           NmgFetch&);
  template <std::size_t... i>
  static constexpr std::array<Sorted*, L::most> sorted_table(std::index_sequence<i...>) {
    return {&sorted<static_cast<int>(i) + 1>...};
  }
  // The kernel of 1:m is at index m - 1, up to most_ones.
  template <std::size_t... i>
  static constexpr std::array<Interleaved*, L::most_ones> ones_table(std::index_sequence<i...>) {
    return {&interleaved<1, static_cast<int>(i) + 1, part>...};
  }
  // The kernel of n:m is at index (m - 1) * most_whole + n - 1; none for n = m, which is dense.
  template <std::size_t at>
  static constexpr Interleaved* interleaved_of() {
    constexpr int n = at % L::most_whole + 1, m = at / L::most_whole + 1;
    if constexpr (n > 1 && n < m)
      return &interleaved<n, m, whole_part>;
    else
      return nullptr;
  }
  template <std::size_t... i>
  static constexpr auto interleaved_table(std::index_sequence<i...>) {
    return std::array<Interleaved*, sizeof...(i)>{interleaved_of<i>()...};
  }
  static Interleaved* find(Int n, Int m) {
    static constexpr auto table =
        interleaved_table(std::make_index_sequence<L::most_whole * L::most_whole>{});
    return m <= L::most_whole && n < m ? table[(m - 1) * L::most_whole + n - 1] : nullptr;
  }

 public:
  static bool supports_block_pairs(Int n, Int m) {
    return n == 1 && m > 1 && m <= L::max_block_pair_m;
  }
  static Int groups(Int n, Int m) {
    if (n == 1) return (m + L::most_ones - 1) / L::most_ones;
    return find(n, m) != nullptr;
  }

  static void run(const NmgRows& rows, NmgSlabStrips strips, Int blocks, const float* slab,
                  bool more, float* c, NmgFetch& fetch) {
    NmgBlockPairs<L>::run(rows, strips, blocks, slab, more, c, fetch);
    if (strips.steps < 0) return run_sorted(rows, strips, blocks, slab, more, c, fetch);
    const Int steps = strips.steps;
    if (rows.n > 1)
      return find(rows.n, rows.m)(blocks, steps, strips.offsets, strips.values, slab, more, c,
                                  fetch);
    static constexpr auto table = ones_table(std::make_index_sequence<L::most_ones>{});
    if (rows.m % rows.groups == 0)  // groups are computed like blocks
      return table[rows.m / rows.groups - 1](blocks * rows.groups, steps, strips.offsets,
                                             strips.values, slab, more, c, fetch);
    for (; blocks > 0; --blocks)
      for (Int k = 0; k < rows.groups; ++k) {
        const Int m = rows.first_of(k + 1) - rows.first_of(k);
        table[m - 1](1, steps, strips.offsets, strips.values, slab, more, c, fetch);
        strips.offsets += m * steps;
        strips.values += m * steps;
        c += m * panel;
      }
  }

 private:
  static void run_sorted(const NmgRows& rows, NmgSlabStrips strips, Int blocks, const float* slab,
                         bool more, float* c, NmgFetch& fetch) {
    static constexpr auto table = sorted_table(std::make_index_sequence<L::most>{});
    for (; blocks > 0; --blocks) {
      ask(fetch);
      // With n = 1 each row belongs to one pattern, which overwrites C; with n > 1 C has to be
      // initialized.
      if (rows.n > 1 && !more)
        for (Int i = 0; i < rows.m * panel; i += L::lanes) L::store(c + i, L::zero());
      for (Int j = 0; j < panel; j += part * L::lanes)
        for (Int i0 = 0; i0 < rows.n; i0 += L::most)
          table[(rows.n - i0 < L::most ? rows.n - i0 : L::most) - 1](i0, rows, strips, slab + j,
                                                                     more || rows.n > 1, c + j);
      Int count = 0;
      for (Int p = 0; p < rows.count; ++p) count += strips.counts[p];
      strips.counts += rows.count;
      strips.offsets += count;
      strips.values += count * rows.n;
      c += rows.m * panel;
    }
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
