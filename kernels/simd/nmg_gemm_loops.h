// Block products of n:m:g in vectors, for any n and m.
//
// Lanes: Vec of `lanes` floats; zero(), load(p), store(p, v), add(a, b), one(p): *p in all lanes,
// fma(a, b, c): a * b + c; four(p): p[0..3] again and again, pick<i>(v): its i-th in all lanes.
// `part` vectors of a row of C are worked on at a time, and up to `most` rows: both times as many
// sums, and `part` vectors of B, fit the registers.
#pragma once
#include <cstddef>
#include <utility>

#include "kernels/nmg_gemm.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

#define STEN_INLINE __attribute__((always_inline))

template <class F, std::size_t... i>
STEN_INLINE inline void each_of(std::index_sequence<i...>, F&& f) {
  (f(std::integral_constant<std::size_t, i>{}), ...);
}
// f(0), ..., f(n - 1), each with a number known when compiling.
template <std::size_t n, class F>
STEN_INLINE inline void each(F&& f) {
  each_of(std::make_index_sequence<n>{}, f);
}

template <class L>
class NmgBlocks {
  using Vec = typename L::Vec;
  using Int = std::int64_t;
  static constexpr int part = L::part, most = L::most;
  static constexpr Int part_width = part * L::lanes;

  template <int n>
  struct Sums {
    Vec of[n][part];
  };

  STEN_INLINE static const float* row(const float* slab, std::size_t offset) {
    return reinterpret_cast<const float*>(reinterpret_cast<const char*>(slab) + offset);
  }

  // A strip; value<i>(): of row i, in all lanes.
  template <int n, class F>
  STEN_INLINE static void strip(const float* b, Sums<n>& sums, F&& value) {
    if constexpr (n == 1) {  // B is read where it is multiplied
      const Vec v = value(std::integral_constant<std::size_t, 0>{});
      each<part>([&](auto j) STEN_INLINE {
        sums.of[0][j] = L::fma(v, L::load(b + j * L::lanes), sums.of[0][j]);
      });
    } else {
      Vec in[part];
      each<part>([&](auto j) STEN_INLINE { in[j] = L::load(b + j * L::lanes); });
      each<n>([&](auto i) STEN_INLINE {
        const Vec v = value(i);
        each<part>([&](auto j) STEN_INLINE { sums.of[i][j] = L::fma(v, in[j], sums.of[i][j]); });
      });
    }
  }

  // n of the rows that strips of `all` rows have.
  template <int n>
  STEN_INLINE static void run(Int count, const std::uint16_t* offsets, const float* values, Int all,
                              const float* slab, Sums<n>& sums) {
    Int e = 0;
    if (all == n) {
      // Four offsets and four values at a time: every load counts as much as one of B.
      for (; e + 4 <= count; e += 4) {
        std::uint64_t four_offsets;
        __builtin_memcpy(&four_offsets, offsets + e, sizeof four_offsets);
        const float* value = values + e * n;
        Vec four_values{};
        each<4>([&](auto c) STEN_INLINE {
          strip<n>(row(slab, four_offsets & 0xffff), sums, [&](auto i) STEN_INLINE {
            constexpr std::size_t at = decltype(c)::value * n + decltype(i)::value;
            if constexpr (at % 4 == 0) four_values = L::four(value + at);
            return L::template pick<at % 4>(four_values);
          });
          four_offsets >>= 16;
        });
      }
    }
    for (; e < count; ++e)
      strip<n>(row(slab, offsets[e]), sums,
               [&](auto i) STEN_INLINE { return L::one(values + e * all + i); });
  }

  // The rows i0 to i0 + n of every pattern.
  template <int n>
  static void rows_from(Int i0, const NmgRows& rows, const NmgRuns& runs, const float* slab,
                        const float* c_in, Int ld_in, float* c_out, Int ld_out) {
    const std::uint16_t* offsets = runs.offsets;
    const float* values = runs.values + i0;
    const std::uint16_t* pattern = rows.patterns + i0;
    for (Int p = 0; p < rows.count; ++p, pattern += rows.n) {
      const Int count = runs.counts[p];
      Sums<n> sums;
      each<n>([&](auto i) STEN_INLINE {
        each<part>([&](auto j) STEN_INLINE {
          sums.of[i][j] = c_in ? L::load(c_in + pattern[i] * ld_in + j * L::lanes) : L::zero();
        });
      });
      run<n>(count, offsets, values, rows.n, slab, sums);
      each<n>([&](auto i) STEN_INLINE {
        each<part>([&](auto j) STEN_INLINE {
          L::store(c_out + pattern[i] * ld_out + j * L::lanes, sums.of[i][j]);
        });
      });
      offsets += count;
      values += count * rows.n;
    }
  }

  using Rows = void(Int, const NmgRows&, const NmgRuns&, const float*, const float*, Int, float*,
                    Int);
  template <std::size_t... i>
  static constexpr auto table_of(std::index_sequence<i...>) {
    struct Table {
      Rows* of[sizeof...(i)];
    };
    return Table{{&rows_from<static_cast<int>(i) + 1>...}};
  }
  static constexpr auto table = table_of(std::make_index_sequence<most>{});

 public:
  static void block(const NmgRows& rows, const NmgRuns& runs, const float* slab, const float* c_in,
                    Int ld_in, float* c_out, Int ld_out) {
    // Patterns of one row have it to themselves; where rows belong to several, C_out has to be
    // there before the first.
    if (rows.n > 1 && c_in != c_out) {
      for (Int r = 0; r < rows.m; ++r)
        for (Int j = 0; j < panel_width; j += L::lanes)
          L::store(c_out + r * ld_out + j, c_in ? L::load(c_in + r * ld_in + j) : L::zero());
      c_in = c_out;
      ld_in = ld_out;
    }
    for (Int j = 0; j < panel_width; j += part_width)
      for (Int i0 = 0; i0 < rows.n; i0 += most)
        table.of[(rows.n - i0 < most ? rows.n - i0 : most) - 1](
            i0, rows, runs, slab + j, c_in ? c_in + j : nullptr, ld_in, c_out + j, ld_out);
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
