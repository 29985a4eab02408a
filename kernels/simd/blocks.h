// SPDX-License-Identifier: Apache-2.0
// Loops over arrays in blocks of 64 elements, whose bits are one word. Compiled once per ISA, for
// the includer's STEN_TARGET.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/simd/target.h"

namespace sten::kernels::simd {

using Word = std::uint64_t;
using Size = std::int64_t;

inline constexpr Size block = 64;

}  // namespace sten::kernels::simd

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// V is a type in the ISA's namespace. All functions are members of a template over V, so that
// functions of different ISAs have different names.
template <class V>
struct Blocks {
  static constexpr Word low_bits(Size n) { return n < block ? (Word{1} << n) - 1 : ~Word{0}; }

  static Word load_word(const std::uint8_t* bits) {
    Word w;
    std::memcpy(&w, bits, 8);
    return w;
  }

  template <class U>
  static void copy(const U* from, Size n, U* to) {
    if (n > 0) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(U));
  }

  // The last n < 64 bits, followed by zeros.
  static Word last_word(const std::uint8_t* bits, Size n) {
    Word w = 0;
    copy(bits, (n + 7) / 8, reinterpret_cast<std::uint8_t*>(&w));
    return w & low_bits(n);
  }
  template <class U>
  static void copy_last(const U* x, Size n, U (&to)[block]) {
    std::fill_n(to, block, U{0});
    copy(x, n, to);
  }

  // Calls f(i, 64 elements from x[i] on, bits of the existing elements); zeros follow the last
  // element. f is called from a single place, so that it is inlined, and the loop makes no other
  // call, which would spill its registers.
  template <class U, class F>
  static void each_block(const U* x, Size n, F&& f) {
    U last[block];
    Word lane_mask = ~Word{0};
    Size i = 0, end = n / block * block;
    for (const U* p = x;; p = last) {
      for (; i < end; i += block, p += block) f(i, p, lane_mask);
      if (end >= n) return;
      lane_mask = low_bits(n - i);
      copy_last(x + i, n - i, last);
      end += block;
    }
  }

  // Calls f(j, bits from j on, whether there are 64 of them) for the blocks from bit i on.
  template <class F>
  static void each_word(Size i, Size n, const std::uint8_t* bits, F&& f) {
    for (; i < n; i += block) {
      const bool whole = i + block <= n;
      f(i, whole ? load_word(bits + i / 8) : last_word(bits + i / 8, n - i), whole);
    }
  }

  // Writes the words that f(64 elements, bits of the existing elements) returns.
  template <class U, class F>
  static void write_words(const U* x, Size n, std::uint8_t* bits, F&& f) {
    const Size whole = n / block * block;
    std::uint8_t last[8];
    each_block(x, n, [&](Size i, const U* p, Word lane_mask) {
      const Word w = f(p, lane_mask);
      std::memcpy(i < whole ? bits + i / 8 : last, &w, 8);
    });
    copy(last, (n - whole + 7) / 8, bits + whole / 8);
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
