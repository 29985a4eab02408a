// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/elementwise.h. Compiled once per ISA, for the includer's STEN_TARGET.
//
// V is a type in the ISA's namespace, U an unsigned integer of 1, 2, 4 or 8 bytes, x 64 elements:
//   Word V::above(const U* x, U boundary)  bit i: key of x[i] > boundary; U(-1) < all keys
//   Word V::equal(const U* x, U key)       bit i: key of x[i] == key
//   Word V::nonzero(const U* x)            bit i: the bits of x[i] are not all 0
//   V::mask(x, word, out)                  out[i] is x[i] where bit i is set, else 0; out can be x
//   V::compress(x, word, out)              can write all 64 elements of out
//   V::expand(x, word, out)                can read all 64 elements of x
//   V::packs<U>                            whether V has compress and expand
//   V::Sums{}, add<type>(x, bits)          adds 16 elements to the sums; store() writes them
#pragma once
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/elementwise.h"
#include "kernels/simd/blocks.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

template <class V>
struct Loops : Blocks<V> {
  using Base = Blocks<V>;
  using Base::copy, Base::copy_last, Base::each_block, Base::each_word, Base::last_word,
      Base::load_word, Base::write_words;

  static Size count_bits(const std::uint8_t* bits, Size n) {
    Size count = 0, i = 0;
    for (; i + block <= n; i += block) count += std::popcount(load_word(bits + i / 8));
    return count + std::popcount(last_word(bits + i / 8, n - i));
  }

  // For bins that contain all keys.
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

  // For at most 8 keys from bins.first to `last`.
  template <class U>
  static Size count_narrow_range(const U* x, Size n, KeyBins<U> bins, U last,
                                 std::uint32_t* counts) {
    Size below = 0;
    std::uint32_t found[8] = {};
    each_block(x, n, [&](Size, const U* p, Word lane_mask) {
      below += std::popcount(~V::above(p, static_cast<U>(bins.first - 1)) & lane_mask);
      for (int k = 0; k <= last - bins.first; ++k)
        found[k] += std::popcount(V::equal(p, static_cast<U>(bins.first + k)) & lane_mask);
    });
    for (int k = 0; k <= last - bins.first; ++k)
      counts[(k >> bins.shift) * histogram_lanes] += found[k];
    return below;
  }

  // Calls f(key, a running index) for the keys from `first` to `last`, in order; returns the number
  // of lesser keys. Fast if few keys are in the range.
  template <class U, class F>
  static Size each_between(const U* x, Size n, U first, U last, F&& f) {
    Size below = 0;
    constexpr Size piece = 64 * block;
    std::uint16_t found[piece + 2];
    for (; n > 0; x += piece, n -= piece) {
      Size end = 0;
      each_block(x, std::min(n, piece), [&](Size i, const U* p, Word lane_mask) {
        const Word from = V::above(p, static_cast<U>(first - 1)) & lane_mask;
        below += std::popcount(from ^ lane_mask);
        Word in = from & ~V::above(p, last);
        // Notes two keys even if there are fewer, because a branch per key would cost more.
        const auto note = [&](Size k) {
          found[k] = static_cast<std::uint16_t>(i + std::countr_zero(in));
          in &= in - 1;
        };
        const Size begin = end;
        end += std::popcount(in);
        note(begin);
        note(begin + 1);
        for (Size k = begin + 2; k < end; ++k) note(k);
      });
      for (Size k = 0; k < end; ++k) f(magnitude_key(x[found[k]]), k);
    }
    return below;
  }

  template <class U>
  static Size histogram(const U* x, Size n, KeyBins<U> bins, std::uint32_t* counts) {
    const auto bin_of = [&](U key) {
      return static_cast<Size>(static_cast<U>(key - bins.first) >> bins.shift);
    };
    const U last =
        bin_of(greatest_key<U>) < bins.count
            ? greatest_key<U>
            : static_cast<U>(bins.first + (static_cast<U>(bins.count) << bins.shift) - 1);
    if (bins.first == 0 && last == greatest_key<U>) {
      count_all(x, n, bins.shift, counts);
      return 0;
    }
    // Only with 1-byte elements does a bin have many equal keys.
    if constexpr (sizeof(U) == 1)
      if (last - bins.first < 8) return count_narrow_range(x, n, bins, last, counts);
    return each_between(x, n, bins.first, last, [&](U key, Size k) {
      ++counts[bin_of(key) * histogram_lanes + k % histogram_lanes];
    });
  }

  template <class U>
  static KeysBetween keys_between(const U* x, Size n, U first, U last, U* keys, Size room) {
    Size inside = 0;
    const Size below = each_between(x, n, first, last, [&](U key, Size) {
      if (inside < room) keys[inside] = key;
      ++inside;
    });
    return {below, inside};
  }

  template <class U>
  static Size count_key(const U* x, Size n, U key) {
    Size count = 0;
    each_block(x, n, [&](Size, const U* p, Word lane_mask) {
      count += std::popcount(V::equal(p, key) & lane_mask);
    });
    return count;
  }

  template <class U>
  static Size count_nonzero(const U* x, Size n) {
    Size count = 0;
    each_block(x, n, [&](Size, const U* p, Word) { count += std::popcount(V::nonzero(p)); });
    return count;
  }

  // The first n set bits of w.
  static Word first_set(Word w, Size n) {
    Word first = 0;
    for (; n > 0; --n, w &= w - 1) first |= w & -w;
    return first;
  }

  template <class U>
  static Size keep_above(const U* x, Size n, U boundary, Size ties, std::uint8_t* bits) {
    Size equal = 0;
    write_words(x, n, bits, [&](const U* p, Word lane_mask) {
      const Word ties_here = V::equal(p, boundary) & lane_mask;
      const Word keep = V::above(p, boundary) & lane_mask;
      const Size before = equal;
      equal += std::popcount(ties_here);
      if (before >= ties) return keep;
      return keep | (equal <= ties ? ties_here : first_set(ties_here, ties - before));
    });
    return equal;
  }

  template <class U>
  static void nonzero_bits(const U* x, Size n, std::uint8_t* bits) {
    write_words(x, n, bits, [&](const U* p, Word) { return V::nonzero(p); });
  }

  template <class U>
  static void mask_values(const U* x, const std::uint8_t* bits, Size n, U* out) {
    Size i = 0;
    for (; i + block <= n; i += block) V::mask(x + i, load_word(bits + i / 8), out + i);
    if (i == n) return;
    U last[block];
    copy_last(x + i, n - i, last);
    V::mask(last, last_word(bits + i / 8, n - i), last);
    copy(last, n - i, out + i);
  }

  template <class U>
  static Size compress(const U* x, const std::uint8_t* bits, Size n, U* out) {
    const Size total = count_bits(bits, n);
    Size i = 0, at = 0;
    for (; i + block <= n && at + block <= total; i += block) {
      const Word word = load_word(bits + i / 8);
      V::compress(x + i, word, out + at);
      at += std::popcount(word);
    }
    // From here on, a whole block could write after the end of the output.
    U last[block], packed[block];
    each_word(i, n, bits, [&](Size j, Word word, bool whole) {
      if (!whole) copy_last(x + j, n - j, last);
      V::compress(whole ? x + j : last, word, packed);
      copy(packed, std::popcount(word), out + at);
      at += std::popcount(word);
    });
    return total;
  }

  template <class U>
  static Size expand(const U* values, const std::uint8_t* bits, Size n, U* out) {
    const Size total = count_bits(bits, n);
    Size i = 0, at = 0;
    for (; i + block <= n && at + block <= total; i += block) {
      const Word word = load_word(bits + i / 8);
      V::expand(values + at, word, out + i);
      at += std::popcount(word);
    }
    // From here on, a whole block could read after the end of the values.
    U packed[block], last[block];
    each_word(i, n, bits, [&](Size j, Word word, bool whole) {
      copy_last(values + at, std::min(total - at, block), packed);
      V::expand(packed, word, whole ? out + j : last);
      if (!whole) copy(last, n - j, out + j);
      at += std::popcount(word);
    });
    return total;
  }

  static double sum_of(double (&s)[16]) {
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) s[i] += s[i + half];
    return std::isnan(s[0]) ? std::numeric_limits<double>::quiet_NaN() : s[0];
  }

  template <FloatKind type, class U>
  static MagnitudeSums sum_magnitudes(const U* x, const std::uint8_t* bits, Size n) {
    constexpr Size step = 16;
    typename V::Sums sums{};
    Size i = 0;
    for (; i + step <= n; i += step) {
      std::uint16_t keep;
      std::memcpy(&keep, bits + i / 8, 2);
      sums.template add<type>(x + i, keep);
    }
    if (i < n) {
      U tail[step] = {};
      copy(x + i, n - i, tail);
      sums.template add<type>(tail, static_cast<std::uint16_t>(last_word(bits + i / 8, n - i)));
    }
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
    WidthKernels<U> kernels{histogram<U>,     keys_between<U>, count_key<U>,
                            count_nonzero<U>, keep_above<U>,   nonzero_bits<U>,
                            mask_values<U>,   nullptr,         nullptr};
    if constexpr (V::template packs<U>) {
      kernels.compress = compress<U>;
      kernels.expand = expand<U>;
    }
    return kernels;
  }

  template <FloatKind kind>
  static consteval auto of_float() {
    using Float = FloatBits<kind>;
    using U = typename Float::Bits;
    return FloatKernels<U>{sum_magnitudes<kind, U>,
                           first_not_finite<U, Float::first_not_finite - 1>};
  }

  static consteval ElementwiseTable table() {
    return {of_width<std::uint8_t>(),
            of_width<std::uint16_t>(),
            of_width<std::uint32_t>(),
            of_width<std::uint64_t>(),
            of_float<FloatKind::f64>(),
            of_float<FloatKind::f32>(),
            of_float<FloatKind::f16>(),
            of_float<FloatKind::bf16>(),
            of_float<FloatKind::f8_e4m3>(),
            of_float<FloatKind::f8_e5m2>(),
            count_bits};
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
