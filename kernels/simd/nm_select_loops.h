// The selection of kernels/nm_select.h. Compiled once per ISA, for the target that the includer's
// STEN_TARGET names.
//
// Every element is compared with those up to m - 1 before and after it, whole vectors at a time;
// what lies in another block does not count. Keys are compared as signed numbers, which they are
// not below 0; where there are no elements keys are -1, less than all.
//
// L = Lanes<U> is a type in the ISA's namespace:
//   L::Vec, L::Test, L::lanes           lanes of U, and a yes or no for each
//   load(p), store(p, v), all(u)
//   key(v, infinity)
//   Test less(a, b)
//   Vec count(rank, in, a, b)           rank + 1 where `in`, and a > b
//   Vec count_equal(rank, in, a, b)     rank + 1 where `in`, and a >= b
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

  // What of `v`'s block is greater, or equal and earlier. Its keys are at p, positions in the
  // block at `pos`.
  template <class U>
  static typename Lanes<U>::Vec rank(const U* p, const U* pos, Size m) {
    using L = Lanes<U>;
    const auto v = L::load(p), at = L::load(pos), one = L::all(1);
    auto rank = L::all(0), before = L::all(0), after = L::all(static_cast<U>(m));
    for (Size d = 1; d < m; ++d) {
      after = L::sub(after, one);
      rank = L::count(rank, L::less(at, after), L::load(p + d), v);
      rank = L::count_equal(rank, L::less(before, at), L::load(p - d), v);
      before = L::add(before, one);
    }
    return rank;
  }

  // The same where vectors hold whole blocks.
  template <Size m, class U>
  static typename Lanes<U>::Vec rank_whole(const U* p, const U* pos) {
    using L = Lanes<U>;
    const auto v = L::load(p), at = L::load(pos);
    auto rank = L::all(0);
#pragma GCC unroll 8
    for (Size d = 1; d < m; ++d) {
      rank = L::count(rank, L::less(at, L::all(static_cast<U>(m - d))), L::load(p + d), v);
      rank = L::count_equal(rank, L::less(L::all(static_cast<U>(d - 1)), at), L::load(p - d), v);
    }
    return rank;
  }

  template <class U, class F>
  static void each_piece(const U* x, Size count, Size n, Size m, U infinity, std::uint64_t* keep,
                         F&& rank_at) {
    using L = Lanes<U>;
    alignas(64) U room[most_ranked + piece + most_ranked];
    U* keys = room + most_ranked;
    std::fill_n(room, most_ranked, U{0});
    const auto limit = L::all(static_cast<U>(n)), top = L::all(infinity);
    const Size reach = piece % m ? m - 1 : 0;
    for (Size begin = 0; begin < count; begin += piece) {
      const Size from = begin ? -reach : 0, here = std::min(piece, count - begin),
                 to = std::min(here + reach, count - begin);
      const U* at = x + begin;
      Size i = from;
      for (; i + L::lanes <= to; i += L::lanes) L::store(keys + i, L::key(L::load(at + i), top));
      for (; i < to; ++i) keys[i] = std::min(magnitude_key(at[i]), infinity);
      std::fill(keys + i, keys + std::min(here + m + L::lanes, piece + most_ranked),
                static_cast<U>(-1));
      std::uint64_t* words = keep + begin / 64;
      std::fill_n(words, (here + 63) / 64, 0);
      for (i = 0; i < here; i += L::lanes) {
        const std::uint64_t bits = L::bits(L::less(rank_at(keys + i, begin + i), limit));
        words[i / 64] |= bits << i % 64;
      }
      if (here % 64) words[here / 64] &= ~(~std::uint64_t{0} << here % 64);
    }
  }

  template <class U>
  static void select(const U* x, Size count, Size n, Size m, U infinity, std::uint64_t* keep) {
    using L = Lanes<U>;
    U pos[2 * most_ranked];
    for (Size p = 0, i = 0; i < m + L::lanes; ++i, p = p + 1 == m ? 0 : p + 1)
      pos[i] = static_cast<U>(p);
    if (m == 4)
      return each_piece(x, count, n, m, infinity, keep,
                        [&](const U* p, Size) { return rank_whole<4>(p, pos); });
    if constexpr (L::lanes >= 8)
      if (m == 8)
        return each_piece(x, count, n, m, infinity, keep,
                          [&](const U* p, Size) { return rank_whole<8>(p, pos); });
    each_piece(x, count, n, m, infinity, keep,
               [&](const U* p, Size i) { return rank(p, pos + i % m, m); });
  }

  static constexpr NmSelectTable table{select, select, select, select};
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
