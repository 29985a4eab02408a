// The loops of kernels/elementwise.h over blocks of 64 elements, which are one word of bits.
// Compiled once per ISA, for the target that the includer's STEN_TARGET names.
//
// V is a type in the ISA's namespace, U an unsigned integer of 1, 2, 4 or 8 bytes:
//   Word V::above(const U* x, U boundary)  bit i: the key of x[i] is above; U(-1) is below all keys
//   Word V::equal(const U* x, U key)       bit i: the key of x[i] equals it
//   Word V::nonzero(const U* x)            bit i: x[i] has a bit set
//   V::mask(x, word, out)                  out[i] is x[i] where bit i is set, else 0
//   V::compress(x, word, out)              may write all 64 elements of out
//   V::expand(x, word, out)                may read all 64 elements of x
//   V::Sums{}, add<type>(x, bits)          adds 16 elements to the partial sums; store() has them
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/elementwise.h"
#include "kernels/simd/target.h"

namespace sten::kernels::simd {

using Word = std::uint64_t;
using Size = std::int64_t;

enum class FloatType { f64, f32, f16, bf16, f8_e4m3, f8_e5m2 };

inline constexpr Size block = 64;

}  // namespace sten::kernels::simd

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// Everything is a member, so that no function of one ISA has the name of another's.
template <class V>
struct Loops {
  static constexpr Word low_bits(Size n) { return n < block ? (Word{1} << n) - 1 : ~Word{0}; }

  // The word of the elements from i on; no bits beyond n.
  static Word load_word(const std::uint8_t* bits, Size i, Size n) {
    Word w = 0;
    if (n - i >= block) {
      std::memcpy(&w, bits + i / 8, 8);
      return w;
    }
    std::memcpy(&w, bits + i / 8, static_cast<std::size_t>(n - i + 7) / 8);
    return w & low_bits(n - i);
  }

  static void store_word(Word w, std::uint8_t* bits, Size i, Size n) {
    if (n - i >= block)
      std::memcpy(bits + i / 8, &w, 8);
    else
      std::memcpy(bits + i / 8, &w, static_cast<std::size_t>(n - i + 7) / 8);
  }

  template <class U>
  static void copy(const U* from, Size n, U* to) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(U));
  }

  // f(i, 64 elements from x[i] on, the bits of those that are there); zeros follow the last one.
  template <class U, class F>
  static void each_block(const U* x, Size n, F&& f) {
    U tail[block];
    for (Size i = 0; i < n; i += block) {
      const U* p = x + i;
      if (n - i < block) {
        std::fill_n(tail, block, U{0});
        copy(p, n - i, tail);
        p = tail;
      }
      f(i, p, low_bits(n - i));
    }
  }

  static Size count_bits(const std::uint8_t* bits, Size n) {
    Size count = 0;
    for (Size i = 0; i < n; i += block) count += std::popcount(load_word(bits, i, n));
    return count;
  }

  // All keys are in a bin.
  template <class U>
  static void count_all(const U* x, Size n, int shift, std::uint32_t* counts) {
    const auto count = [&](U element, Size lane) {
      ++counts[static_cast<Size>(magnitude_key(element) >> shift) * histogram_lanes + lane];
    };
    Size i = 0;
    for (; i + histogram_lanes <= n; i += histogram_lanes)
      for (Size lane = 0; lane < histogram_lanes; ++lane) count(x[i + lane], lane);
    for (; i < n; ++i) count(x[i], 0);
  }

  template <class U>
  static Size histogram(const U* x, Size n, KeyBins<U> bins, std::uint32_t* counts) {
    const bool reaches_end =
        (greatest_key<U> - bins.first) >> bins.shift < static_cast<U>(bins.count);
    const U last =
        reaches_end ? greatest_key<U>
                    : static_cast<U>(bins.first + (static_cast<U>(bins.count) << bins.shift) - 1);
    if (bins.first == 0 && reaches_end) {
      count_all(x, n, bins.shift, counts);
      return 0;
    }
    Size below = 0;
    constexpr Size piece = 64 * block;
    std::uint16_t found[piece + 2];
    for (; n > 0; x += piece, n -= piece) {
      Size end = 0;
      each_block(x, std::min(n, piece), [&](Size i, const U* p, Word there) {
        const Word from = V::above(p, static_cast<U>(bins.first - 1)) & there;
        below += std::popcount(from ^ there);
        Word in = from & ~V::above(p, last);
        // Two are noted even where there are less: a branch on every number would be mispredicted.
        const Size begin = end;
        end += std::popcount(in);
        for (Size k = 0; k < 2 || begin + k < end; ++k, in &= in - 1)
          found[begin + k] = static_cast<std::uint16_t>(i + std::countr_zero(in));
      });
      for (Size k = 0; k < end; ++k) {
        const U bin = static_cast<U>(magnitude_key(x[found[k]]) - bins.first) >> bins.shift;
        ++counts[static_cast<Size>(bin) * histogram_lanes + k % histogram_lanes];
      }
    }
    return below;
  }

  template <class U>
  static Size count_key(const U* x, Size n, U key) {
    Size count = 0;
    each_block(x, n, [&](Size, const U* p, Word there) {
      count += std::popcount(V::equal(p, key) & there);
    });
    return count;
  }

  template <class U>
  static Size count_nonzero(const U* x, Size n) {
    Size count = 0;
    each_block(x, n, [&](Size, const U* p, Word) { count += std::popcount(V::nonzero(p)); });
    return count;
  }

  // The first n bits that are set in w.
  static Word first_set(Word w, Size n) {
    Word first = 0;
    for (; n > 0; --n, w &= w - 1) first |= w & -w;
    return first;
  }

  template <class U>
  static Size keep_above(const U* x, Size n, U boundary, Size ties, std::uint8_t* bits) {
    Size equal = 0;
    each_block(x, n, [&](Size i, const U* p, Word there) {
      const Word ties_here = V::equal(p, boundary) & there;
      Word keep = V::above(p, boundary) & there;
      const Size before = equal;
      equal += std::popcount(ties_here);
      if (before < ties) keep |= equal <= ties ? ties_here : first_set(ties_here, ties - before);
      store_word(keep, bits, i, n);
    });
    return equal;
  }

  template <class U>
  static void nonzero_bits(const U* x, Size n, std::uint8_t* bits) {
    each_block(x, n, [&](Size i, const U* p, Word) { store_word(V::nonzero(p), bits, i, n); });
  }

  template <class U>
  static void mask_values(const U* x, const std::uint8_t* bits, Size n, U* out) {
    U tail[block];
    each_block(x, n, [&](Size i, const U* p, Word) {
      const bool whole = n - i >= block;
      V::mask(p, load_word(bits, i, n), whole ? out + i : tail);
      if (!whole) copy(tail, n - i, out + i);
    });
  }

  template <class U>
  static Size compress(const U* x, const std::uint8_t* bits, Size n, U* out) {
    const Size total = count_bits(bits, n);
    Size at = 0;
    U last[block];
    each_block(x, n, [&](Size i, const U* p, Word) {
      const Word word = load_word(bits, i, n);
      const Size count = std::popcount(word);
      const bool fits = total - at >= block;
      V::compress(p, word, fits ? out + at : last);
      if (!fits) copy(last, count, out + at);
      at += count;
    });
    return total;
  }

  template <class U>
  static Size expand(const U* values, const std::uint8_t* bits, Size n, U* out) {
    const Size total = count_bits(bits, n);
    Size at = 0;
    U last[block] = {}, tail[block];
    for (Size i = 0; i < n; i += block) {
      const Word word = load_word(bits, i, n);
      const bool fits = total - at >= block, whole = n - i >= block;
      if (!fits) copy(values + at, total - at, last);
      V::expand(fits ? values + at : last, word, whole ? out + i : tail);
      if (!whole) copy(tail, n - i, out + i);
      at += std::popcount(word);
    }
    return total;
  }

  static double sum_of(double (&s)[16]) {
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) s[i] += s[i + half];
    return std::isnan(s[0]) ? std::numeric_limits<double>::quiet_NaN() : s[0];
  }

  template <FloatType type, class U>
  static MagnitudeSums sum_magnitudes(const U* x, const std::uint8_t* bits, Size n) {
    typename V::Sums sums{};
    each_block(x, n, [&](Size i, const U* p, Word) {
      const Word word = load_word(bits, i, n);
      for (int k = 0; k < block; k += 16)
        sums.template add<type>(p + k, static_cast<std::uint16_t>(word >> k));
    });
    double all[16], kept[16];
    sums.store(all, kept);
    return {sum_of(all), sum_of(kept)};
  }

  template <class U, U greatest_finite>
  static Size first_not_finite(const U* x, Size n) {
    Size i = 0;
    for (; i + block <= n; i += block)
      if (const Word word = V::above(x + i, greatest_finite)) return i + std::countr_zero(word);
    for (; i < n; ++i)
      if (magnitude_key(x[i]) > greatest_finite) return i;
    return n;
  }

  template <class U>
  static consteval WidthKernels<U> of_width() {
    return {histogram<U>,    count_key<U>,   count_nonzero<U>, keep_above<U>,
            nonzero_bits<U>, mask_values<U>, compress<U>,      expand<U>};
  }

  template <FloatType type, class U, U greatest_finite>
  static consteval FloatKernels<U> of_float() {
    return {sum_magnitudes<type, U>, first_not_finite<U, greatest_finite>};
  }

  static consteval ElementwiseTable table() {
    return {of_width<std::uint8_t>(),
            of_width<std::uint16_t>(),
            of_width<std::uint32_t>(),
            of_width<std::uint64_t>(),
            of_float<FloatType::f64, std::uint64_t, 0x7fefffffffffffff>(),
            of_float<FloatType::f32, std::uint32_t, 0x7f7fffff>(),
            of_float<FloatType::f16, std::uint16_t, 0x7bff>(),
            of_float<FloatType::bf16, std::uint16_t, 0x7f7f>(),
            of_float<FloatType::f8_e4m3, std::uint8_t, 0x7e>(),
            of_float<FloatType::f8_e5m2, std::uint8_t, 0x7b>(),
            count_bits};
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
