// SPDX-License-Identifier: Apache-2.0
// Sums of products of n:m:g in registers, and strips as products read them.
//
// L has Vec of `lanes` floats; zero(), load(p), store(p, v), add(a, b); one(p): *p in all lanes;
// fma(a, b, c): a * b + c; four(p): p[0..3] repeated; pick<i>(v): element i of four() in all lanes;
// `panel` columns of B and C.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/nmg_gemm.h"
#include "kernels/simd/each.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

template <class L>
struct NmgSums {
  using Vec = typename L::Vec;
  using Int = std::int64_t;
  using Offset = std::uint16_t;
  static constexpr Int panel = L::panel;

  template <int n, int width>
  struct Sums {
    Vec of[n][width];

    // Row i of C is rows[i].
    template <class R>
    STEN_INLINE void load(const float* c, const R* rows) {
      each<n>([&](auto i) STEN_INLINE {
        const float* from = c + rows[i] * panel;
        each<width>([&](auto j) STEN_INLINE { of[i][j] = L::load(from + j * L::lanes); });
      });
    }
    template <class R>
    STEN_INLINE void store(float* c, const R* rows) const {
      each<n>([&](auto i) STEN_INLINE {
        float* to = c + rows[i] * panel;
        each<width>([&](auto j) STEN_INLINE { L::store(to + j * L::lanes, of[i][j]); });
      });
    }
    STEN_INLINE void clear() {
      each<n>([&](auto i)
                  STEN_INLINE { each<width>([&](auto j) STEN_INLINE { of[i][j] = L::zero(); }); });
    }
    STEN_INLINE void add(const Sums& other) {
      each<n>([&](auto i) STEN_INLINE {
        each<width>([&](auto j) STEN_INLINE { of[i][j] = L::add(of[i][j], other.of[i][j]); });
      });
    }
  };

  // Offsets and values of `strips` consecutive strips, loaded four at a time, because these loads
  // cost as much as loads of B. Strips and rows have to be requested in order.
  template <int n, std::size_t strips>
  struct Fours {
    const Offset* offsets;
    const float* values;
    std::uint64_t offset_bits;
    Vec value_bits;

    template <std::size_t strip>
    STEN_INLINE const float* row(const float* slab) {
      if constexpr (strip % 4 == 0)
        __builtin_memcpy(&offset_bits, offsets + strip, sizeof offset_bits);
      else
        offset_bits >>= 16;
      return from_slab(slab, offset_bits & 0xffff);
    }
    // One of four values is loaded separately: on Intel, shuffles take a port of the FMAs and loads
    // do not, and this balances the two.
    template <std::size_t strip, std::size_t i>
    STEN_INLINE Vec value() {
      constexpr std::size_t first = strip / 4 * 4;
      if constexpr (n > 1) return L::one(values + strip * n + i);
      if constexpr (strip == first || strips - first < 3) return L::one(values + strip);
      if constexpr (strip == first + 1) value_bits = L::four(values + first);
      return L::template broadcast_lane<strip - first>(value_bits);
    }
  };

  STEN_INLINE static const float* from_slab(const float* slab, std::size_t bytes) {
    return reinterpret_cast<const float*>(reinterpret_cast<const char*>(slab) +
                                          bytes / (panel_width / panel));
  }

  STEN_INLINE static void ask(NmgFetch& f) {
    for (Int i = f.lines < f.at_once ? f.lines : f.at_once; i > 0; --i, --f.lines) {
      __builtin_prefetch(f.row + f.column, 0, 2);
      f.column += NmgFetch::line;
      if (f.column < f.columns) continue;
      f.column = 0;
      f.row += f.stride;
    }
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
