// The n elements of largest magnitude of every m neighbours, as raw bits of a float type.
//
// The key of an element is its bits without the sign bit, at most `infinity`: NaN ranks as infinity
// does. Among equals the earlier stays; a short last block of b elements keeps min(n, b).
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

// Blocks are ranked by comparing all pairs: beyond this that is not worth it.
inline constexpr std::int64_t most_ranked = 64;

// keep[ceil(count / 64)]: bit i says whether x[i] stays; blocks begin at x[0], and spare bits are
// 0. 1 <= n <= m <= most_ranked. Nothing outside of the count elements is read.
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

// The table of active_isa().
const NmSelectTable& nm_select();
// nullptr unless has_isa(isa).
const NmSelectTable* nm_select_for(Isa isa);

}  // namespace sten::kernels
