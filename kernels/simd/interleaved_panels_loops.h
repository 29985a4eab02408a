// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/interleaved_panels.h. Compiled once per ISA, for the includer's STEN_TARGET.
//
// P is InterleavedVectors8 or InterleavedVectors16: Bf16Interleaved8 or Bf16Interleaved16 with
// pack(even, odd), which rounds to pairs.
#pragma once
#include <algorithm>

#include "kernels/interleaved_panels.h"
#include "kernels/simd/each.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

template <class P, std::int64_t lanes>
struct InterleavedPanels {
  using Vec = typename P::Vec;
  using Words = typename P::Words;
  using Size = std::int64_t;
  static constexpr Size vectors = lanes / P::lanes;
  // bfloat16 values per vector of pairs, and per row of pairs.
  static constexpr Size in_words = 2 * P::lanes, line = 2 * lanes;

  // Separate sums of the first and the second features of pairs, so that additions do not wait for
  // each other.
  struct Sums {
    Vec even[vectors], odd[vectors];

    STEN_INLINE void clear() {
      each<vectors>([&](auto j) STEN_INLINE { even[j] = odd[j] = P::zero(); });
    }
    STEN_INLINE Vec of(std::size_t j) const { return P::add(even[j], odd[j]); }
  };

  // Calls f for all pairs, then for an odd last feature.
  template <class F>
  STEN_INLINE static void each_pair(Size n, F&& f) {
    for (Size r = 0; r + 1 < n; r += 2) f(r, std::true_type{});
    if (n % 2) f(n - 1, std::false_type{});
  }

  static void normalize(const std::uint16_t* x, Size n, float eps, const float* gamma,
                        const float* beta, std::uint16_t* y) {
    const Vec count = P::set(static_cast<float>(n));
    Vec mean[vectors], by[vectors];
    Sums sums;
    sums.clear();
    // No shift is needed before summing: bfloat16 values with a mean far from 0 compared with their
    // deviation have no precision left to lose.
    each_pair(n, [&](Size r, auto whole) STEN_INLINE {
      each<vectors>([&](auto j) STEN_INLINE {
        const Words w = P::load_words(x + r * lanes + j * in_words);
        sums.even[j] = P::add(sums.even[j], P::even(w));
        if constexpr (whole) sums.odd[j] = P::add(sums.odd[j], P::odd(w));
      });
    });
    each<vectors>([&](auto j) STEN_INLINE { mean[j] = P::div(sums.of(j), count); });
    sums.clear();
    each_pair(n, [&](Size r, auto whole) STEN_INLINE {
      each<vectors>([&](auto j) STEN_INLINE {
        const Words w = P::load_words(x + r * lanes + j * in_words);
        const Vec even = P::sub(P::even(w), mean[j]);
        sums.even[j] = P::fma(even, even, sums.even[j]);
        if constexpr (whole) {
          const Vec odd = P::sub(P::odd(w), mean[j]);
          sums.odd[j] = P::fma(odd, odd, sums.odd[j]);
        }
      });
    });
    each<vectors>([&](auto j) STEN_INLINE {
      const Vec variance = P::add(P::div(sums.of(j), count), P::set(eps));
      by[j] = P::div(P::set(1), P::sqrt(variance));
    });
    each_pair(n, [&](Size r, auto whole) STEN_INLINE {
      each<vectors>([&](auto j) STEN_INLINE {
        const Words w = P::load_words(x + r * lanes + j * in_words);
        const auto finish = [&](Vec v, Size at) STEN_INLINE {
          const Vec z = P::mul(P::sub(v, mean[j]), by[j]);
          return P::fma(z, P::one(gamma + at), P::one(beta + at));
        };
        Vec odd = P::zero();
        if constexpr (whole) odd = finish(P::odd(w), r + 1);
        P::store_words(y + r * lanes + j * in_words, P::pack(finish(P::even(w), r), odd));
      });
    });
  }

  // Vectors of C's rows that are summed at a time, with up to most_rows rows.
  static constexpr Size part = std::min<Size>(P::lanes / 4, vectors), most_rows = 4;
  // How far ahead x is prefetched, in values: it comes from memory, and hardware prefetchers stop
  // at the end of a page.
  static constexpr Size prefetched = 2048;

  template <std::size_t rows>
  struct Products {
    Vec of[rows][part];

    // Adds the first or second features of the pairs at x, times a column of A, or both.
    template <bool even, bool odd>
    STEN_INLINE void add(const float* a, Size lda, const std::uint16_t* x) {
      each<part>([&](auto j) STEN_INLINE {
        const Words w = P::load_words(x + j * in_words);
        __builtin_prefetch(x + j * in_words + prefetched, 0, 3);
        if constexpr (even) {
          const Vec v = P::even(w);
          each<rows>([&](auto i)
                         STEN_INLINE { of[i][j] = P::fma(P::one(a + i * lda), v, of[i][j]); });
        }
        if constexpr (odd) {
          const Vec v = P::odd(w);
          each<rows>([&](auto i) STEN_INLINE {
            of[i][j] = P::fma(P::one(a + i * lda + (even ? 1 : 0)), v, of[i][j]);
          });
        }
      });
    }
  };

  template <std::size_t rows>
  static void multiply_rows(const float* a, Size lda, const std::uint16_t* x, Size first,
                            Size depth, float* c) {
    for (Size at = 0; at < vectors; at += part) {
      Products<rows> sums;
      each<rows>([&](auto i) STEN_INLINE {
        each<part>([&](auto j) STEN_INLINE { sums.of[i][j] = P::zero(); });
      });
      const std::uint16_t* from = x + first / 2 * line + at * in_words;
      Size k = 0;
      if (first % 2 && depth > 0) {
        sums.template add<false, true>(a, lda, from);
        from += line;
        k = 1;
      }
      for (; k + 1 < depth; k += 2, from += line) sums.template add<true, true>(a + k, lda, from);
      if (k < depth) sums.template add<true, false>(a + k, lda, from);
      each<rows>([&](auto i) STEN_INLINE {
        each<part>([&](auto j) STEN_INLINE {
          P::store(c + i * lanes + (at + j) * P::lanes, sums.of[i][j]);
        });
      });
    }
  }

  static void multiply(const float* a, Size lda, Size rows, const std::uint16_t* x, Size first,
                       Size depth, float* c) {
    for (; rows >= most_rows; rows -= most_rows, a += most_rows * lda, c += most_rows * lanes)
      multiply_rows<most_rows>(a, lda, x, first, depth, c);
    if (rows == 3) multiply_rows<3>(a, lda, x, first, depth, c);
    if (rows == 2) multiply_rows<2>(a, lda, x, first, depth, c);
    if (rows == 1) multiply_rows<1>(a, lda, x, first, depth, c);
  }

  static constexpr InterleavedPanelsTable table() { return {normalize, multiply}; }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
