// SPDX-License-Identifier: Apache-2.0
// n:m selection: the n elements of largest magnitude in every block of m neighbours, on the raw
// bits of a float type.
//
// The key of an element is its bits without the sign bit, at most `infinity`, so NaN ranks as
// infinity. Among equal keys the earlier element is kept. A short last block of b elements keeps
// min(n, b).
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

// Maximum m. Blocks are ranked by comparing all pairs, which is slow for larger m.
inline constexpr std::int64_t most_ranked = 64;

// Sets bit i of keep[ceil(count / 64)] if x[i] is kept. Blocks start at x[0], and unused bits are
// 0. 1 <= n <= m <= most_ranked. Only the count elements are read.
template <class U>
using NmSelect = void (*)(const U* x, std::int64_t count, std::int64_t n, std::int64_t m,
                          U infinity, std::uint64_t* keep);

struct NmSelectTable {
  NmSelect<std::uint8_t> w1;
  NmSelect<std::uint16_t> w2;
  NmSelect<std::uint32_t> w4;
  NmSelect<std::uint64_t> w8;

  template <class U>
  constexpr NmSelect<U> of() const {
    if constexpr (sizeof(U) == 1)
      return w1;
    else if constexpr (sizeof(U) == 2)
      return w2;
    else if constexpr (sizeof(U) == 4)
      return w4;
    else
      return w8;
  }
};

// The table for active_isa().
const NmSelectTable& nm_select();
// nullptr unless has_isa(isa).
const NmSelectTable* nm_select_for(Isa isa);

}  // namespace sten::kernels
