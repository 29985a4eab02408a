// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/nm_select.h. Compiled once per ISA, for the includer's STEN_TARGET.
//
// Every element is compared with the m - 1 other elements of its block, whole vectors at a time, at
// the distances 1 to m - 1: first later elements, then, wrapping around at the end of the block,
// earlier ones. A later element ranks higher if its key is greater, that is, if key - 1 is not
// less; an earlier one if its key is not less. Keys are compared as signed integers, because they
// are not negative; missing elements have the key -1, less than all keys.
//
// L = Lanes<U> is a type in the ISA's namespace:
//   L::Vec, L::Test, L::lanes           lanes of U, and one boolean per lane
//   load(p), store(p, v), all(u), sub(a, b)
//   Vec key(v, infinity)
//   Test less(a, b)
//   Vec choose(test, no, yes)
//   Vec count_less(count, a, b)         count + 1 where a < b
//   Word bits(test)
#pragma once
#include <algorithm>

#include "kernels/elementwise.h"
#include "kernels/nm_select.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

template <template <class> class Lanes>
struct NmSelects {
  using Size = std::int64_t;
  static constexpr Size piece = 512;

  // Keys, and keys - 1, of a segment, with as much room before and after as comparisons read.
  template <class U>
  struct Keys {
    alignas(64) U all[most_ranked + piece + most_ranked], less1[most_ranked + piece + most_ranked];

    void put(Size i, typename Lanes<U>::Vec key) {
      using L = Lanes<U>;
      L::store(all + most_ranked + i, key);
      L::store(less1 + most_ranked + i, L::sub(key, L::all(1)));
    }
    void put_one(Size i, U key) {
      all[most_ranked + i] = key;
      less1[most_ranked + i] = static_cast<U>(key - 1);
    }
  };

  // Counts, for each element from i on, the elements of its block that it outranks. wraps(d): lanes
  // whose block has no element at distance d behind them.
  template <class U, class F>
  static typename Lanes<U>::Vec beaten(const Keys<U>& keys, Size i, Size m, F&& wraps) {
    using L = Lanes<U>;
    const U *p = keys.all + most_ranked + i, *less1 = keys.less1 + most_ranked + i;
    const auto v = L::load(p);
    auto count = L::all(0);
#pragma GCC unroll 8
    for (Size d = 1; d < m; ++d)
      count = L::count_less(count, L::choose(wraps(d), L::load(less1 + d), L::load(p + d - m)), v);
    return count;
  }

  template <class U, class F>
  static void each_segment(const U* x, Size count, Size n, Size m, U infinity, std::uint64_t* keep,
                           F&& beaten_at) {
    using L = Lanes<U>;
    Keys<U> keys;
    for (Size i = 1; i < m; ++i) keys.put_one(-i, 0);
    // An element is kept if at most n - 1 of the m - 1 others outrank it.
    const auto others = L::all(static_cast<U>(m - n - 1)), top = L::all(infinity);
    const Size reach = piece % m ? m - 1 : 0;
    for (Size begin = 0; begin < count; begin += piece) {
      const Size here = std::min(piece, count - begin), to = std::min(here + reach, count - begin);
      const U* at = x + begin;
      Size i = begin ? -reach : 0;
      for (; i + L::lanes <= to; i += L::lanes) keys.put(i, L::key(L::load(at + i), top));
      for (; i < to; ++i) keys.put_one(i, std::min(magnitude_key(at[i]), infinity));
      for (const Size end = std::min(here + m + L::lanes, piece + most_ranked); i < end; ++i)
        keys.put_one(i, static_cast<U>(-1));
      std::uint64_t* words = keep + begin / 64;
      std::fill_n(words, (here + 63) / 64, 0);
      for (i = 0; i < here; i += L::lanes) {
        const std::uint64_t bits = L::bits(L::less(others, beaten_at(keys, i, begin + i)));
        words[i / 64] |= bits << i % 64;
      }
      if (here % 64) words[here / 64] &= ~(~std::uint64_t{0} << here % 64);
    }
  }

  // For vectors that hold whole blocks.
  template <Size m, class U>
  static void select_whole(const U* x, Size count, Size n, U infinity, std::uint64_t* keep,
                           const U* pos) {
    using L = Lanes<U>;
    typename L::Test wraps[m];
    for (Size d = 1; d < m; ++d)
      wraps[d] = L::less(L::all(static_cast<U>(m - 1 - d)), L::load(pos));
    each_segment(x, count, n, m, infinity, keep, [&](const Keys<U>& keys, Size i, Size) {
      return beaten(keys, i, m, [&](Size d) { return wraps[d]; });
    });
  }

  template <class U>
  static void select(const U* x, Size count, Size n, Size m, U infinity, std::uint64_t* keep) {
    using L = Lanes<U>;
    U pos[2 * most_ranked];  // index of each element in its block
    for (Size p = 0, i = 0; i < m + L::lanes; ++i, p = p + 1 == m ? 0 : p + 1)
      pos[i] = static_cast<U>(p);
    if (m == 4) return select_whole<4>(x, count, n, infinity, keep, pos);
    if constexpr (L::lanes >= 8)
      if (m == 8) return select_whole<8>(x, count, n, infinity, keep, pos);
    each_segment(x, count, n, m, infinity, keep, [&](const Keys<U>& keys, Size i, Size element) {
      const auto at = L::load(pos + element % m);
      return beaten(keys, i, m,
                    [&](Size d) { return L::less(L::all(static_cast<U>(m - 1 - d)), at); });
    });
  }

  static constexpr NmSelectTable table{select, select, select, select};
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
