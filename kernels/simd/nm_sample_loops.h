// SPDX-License-Identifier: Apache-2.0
// Sampled products of n:m in vectors.
//
// L has Vec of `lanes` floats; zero(), load(p), store(p, v), add(a, b), mul(a, b), fma(a, b, c): a
// * b + c; in_register(v): v, loaded once; load_first(p, n) and store_first(p, v, n) for n lanes;
// pair(a, b): adds neighbouring lanes, half as many sums of each vector; sums(p): the sums over the
// lanes of `lanes` consecutive vectors, or with `paired` of pair() vectors. Up to `width(rows)`
// vectors of tokens are processed at a time, so that those of all rows fit in registers.
#pragma once
#include <algorithm>

#include "kernels/nm_sample.h"
#include "kernels/simd/each.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

template <class L>
class NmSampleLoops {
  using Vec = typename L::Vec;
  using Int = std::int64_t;
  static constexpr Int in_panel = panel_width / L::lanes;  // vectors per panel

  // A range of vectors of tokens, for all features, which can cross from one panel to the next.
  struct Some {
    const float *first, *second;

    Some(const PanelsIn& panels, Int token)
        : first(panels.of[token / panel_width] + token % panel_width), second(panels.of[1]) {}
    template <Int j>
    STEN_INLINE Vec load(Int feature) const {
      const float* from = j < in_panel ? first : second;
      return L::load(from + feature * panel_width + j % in_panel * L::lanes);
    }
  };

  // Rows i0 to i0 + rows of the patterns of a block, which starts at row `block` of dy, times
  // `width` vectors. Writes sums per lane to work, [strips, n], or adds to them with `more`. Unless
  // `sums` is nullptr, complete sums are reduced and added to it. paired, for n = 2: both values of
  // a strip share a vector, because a store takes as long as two loads.
  template <int rows, int width, bool paired>
  static void sample_some(const NmStrips& a, Int i0, Int block, Some x, Some dy, bool more,
                          float* work, float* sums) {
    const std::uint16_t *columns = a.columns, *pattern = a.patterns + i0;
    const std::uint16_t* const counts = a.counts;
    const Int n = a.n, count = a.count;
    const Int strip_size = (paired ? 1 : n) * L::lanes, all_size = L::lanes * L::lanes;
    float* to = work + i0 * L::lanes;
    constexpr Int chains = 2;
    Int waiting = 0;  // complete values, not yet reduced
    for (Int p = 0; p < count; ++p, pattern += n) {
      Vec in[rows][width];
      each<rows>([&](auto i) STEN_INLINE {
        each<width>([&](auto j) STEN_INLINE {
          in[i][j] = dy.template load<decltype(j)::value>(block + pattern[i]);
        });
      });
      for (Int e = counts[p]; e > 0; --e, to += strip_size) {
        const Int column = *columns++;
        Vec sum[rows][chains];
        each<width>([&](auto j) STEN_INLINE {
          constexpr Int at = decltype(j)::value;
          const Vec v = L::in_register(x.template load<at>(column));
          each<rows>([&](auto i) STEN_INLINE {
            Vec& of = sum[i][at % chains];
            if constexpr (at < chains)
              of = L::mul(in[i][j], v);
            else
              of = L::fma(in[i][j], v, of);
          });
        });
        const auto add_to = [&](float* at, Vec v)
                                STEN_INLINE { L::store(at, more ? L::add(L::load(at), v) : v); };
        each<rows>([&](auto i) STEN_INLINE { sum[i][0] = L::add(sum[i][0], sum[i][1]); });
        if constexpr (paired)
          add_to(to, L::pair(sum[0][0], sum[1][0]));
        else
          each<rows>([&](auto i) STEN_INLINE { add_to(to + i * L::lanes, sum[i][0]); });
      }
      // Reduced here, so that the reduction overlaps with the products of the next pattern.
      if (!sums) continue;
      for (waiting += counts[p] * n; waiting >= L::lanes; waiting -= L::lanes) {
        L::store(sums, L::add(L::load(sums), L::template sums<paired>(work)));
        work += paired ? all_size / 2 : all_size;
        sums += L::lanes;
      }
    }
    if (sums && waiting > 0)
      L::store_first(sums, L::add(L::load_first(sums, waiting), L::template sums<paired>(work)),
                     waiting);
  }
  // The same for all tokens.
  template <int rows, int width, bool paired>
  static void sample_rows(const NmStrips& a, Int i0, Int block, const PanelsIn& x,
                          const PanelsIn& dy, float* work, float* sums) {
    constexpr Int step = width * L::lanes;
    const Int end = x.count * panel_width;
    for (Int at = 0; at < end; at += step)
      sample_some<rows, width, paired>(a, i0, block, {x, at}, {dy, at}, at > 0, work,
                                       i0 + rows == a.n && at + step == end ? sums : nullptr);
  }
  template <int rows, bool paired = false>
  static void sample_rows(const NmStrips& a, Int i0, Int block, const PanelsIn& x,
                          const PanelsIn& dy, float* work, float* sums) {
    constexpr int wide = L::width(rows), narrow = std::min<int>(wide, in_panel);
    if (x.count > 1)
      sample_rows<rows, wide, paired>(a, i0, block, x, dy, work, sums);
    else
      sample_rows<rows, narrow, paired>(a, i0, block, x, dy, work, sums);
  }

 public:
  static void sample(const NmStrips& all, const PanelsIn& x, const PanelsIn& dy, float* work,
                     float* sums) {
    NmStrips a = all;
    for (Int block = 0; block < all.blocks; ++block) {
      // Two rows share the loads of x.
      Int i0 = 0;
      if (a.n == 2) sample_rows<2, true>(a, i0, block * a.m, x, dy, work, sums), i0 = 2;
      for (; i0 + 2 <= a.n; i0 += 2) sample_rows<2>(a, i0, block * a.m, x, dy, work, sums);
      if (i0 < a.n) sample_rows<1>(a, i0, block * a.m, x, dy, work, sums);
      Int strips = 0;
      for (Int p = 0; p < a.count; ++p) strips += a.counts[p];
      a.counts += a.count;
      a.columns += strips;
      sums += strips * a.n;
    }
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
