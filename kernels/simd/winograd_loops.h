// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/winograd.h. Compiled once per ISA, for the includer's STEN_TARGET.
#pragma once
#include "kernels/sanitized.h"
#include "kernels/simd/math.h"
#include "kernels/winograd.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// V: see math.h. The matrices are those of reference/winograd.cpp, with even and odd columns
// computed separately.
template <class V>
struct Winograd : Math<V> {
  using Base = Math<V>;
  using Base::each_vector;
  using typename Base::Vec, typename Base::Size;

  static constexpr float a = 0.75f, b = 1.5f, aa = a * a, bb = b * b;
  static constexpr float n0 = aa * bb, na = 2 * aa * (aa - bb), nb = 2 * bb * (bb - aa);

  STEN_INLINE static Vec times(Vec x, float by) { return V::mul(x, V::set(by)); }
  STEN_INLINE static Vec plus(Vec x, float by, Vec y) { return V::fma(x, V::set(by), y); }

  // to = B^T d
  STEN_INLINE static void of_input(const Vec (&d)[6], Vec (&to)[6]) {
    to[0] = plus(d[0], n0, plus(d[2], -aa - bb, d[4]));
    const Vec even_a = plus(d[2], -bb, d[4]), odd_a = times(plus(d[1], -bb, d[3]), a);
    const Vec even_b = plus(d[2], -aa, d[4]), odd_b = times(plus(d[1], -aa, d[3]), b);
    to[1] = V::add(even_a, odd_a);
    to[2] = V::sub(even_a, odd_a);
    to[3] = V::add(even_b, odd_b);
    to[4] = V::sub(even_b, odd_b);
    to[5] = plus(d[1], n0, plus(d[3], -aa - bb, d[5]));
  }
  // to = A^T m
  STEN_INLINE static void of_output(const Vec (&m)[6], Vec (&to)[4]) {
    const Vec sum_a = V::add(m[1], m[2]), sum_b = V::add(m[3], m[4]);
    const Vec odd_a = V::sub(m[1], m[2]), odd_b = V::sub(m[3], m[4]);
    to[0] = V::add(m[0], V::add(sum_a, sum_b));
    to[1] = plus(odd_a, a, times(odd_b, b));
    to[2] = plus(sum_a, aa, times(sum_b, bb));
    to[3] = plus(odd_a, a * aa, plus(odd_b, b * bb, m[5]));
  }
  // to = A y
  STEN_INLINE static void of_gradient(const Vec (&y)[4], Vec (&to)[6]) {
    const Vec even_a = plus(y[2], aa, y[0]), odd_a = times(plus(y[3], aa, y[1]), a);
    const Vec even_b = plus(y[2], bb, y[0]), odd_b = times(plus(y[3], bb, y[1]), b);
    to[0] = y[0];
    to[1] = V::add(even_a, odd_a);
    to[2] = V::sub(even_a, odd_a);
    to[3] = V::add(even_b, odd_b);
    to[4] = V::sub(even_b, odd_b);
    to[5] = y[3];
  }
  // to = G w
  STEN_INLINE static void of_filter(const Vec (&w)[3], Vec (&to)[6]) {
    const Vec even_a = times(plus(w[2], aa, w[0]), 1 / na), odd_a = times(w[1], a / na);
    const Vec even_b = times(plus(w[2], bb, w[0]), 1 / nb), odd_b = times(w[1], b / nb);
    to[0] = times(w[0], 1 / n0);
    to[1] = V::add(even_a, odd_a);
    to[2] = V::sub(even_a, odd_a);
    to[3] = V::add(even_b, odd_b);
    to[4] = V::sub(even_b, odd_b);
    to[5] = w[2];
  }
  // to = G^T u
  STEN_INLINE static void of_filter_gradient(const Vec (&u)[6], Vec (&to)[3]) {
    const Vec sum_a = times(V::add(u[1], u[2]), 1 / na), sum_b = times(V::add(u[3], u[4]), 1 / nb);
    const Vec odd_a = times(V::sub(u[1], u[2]), a / na), odd_b = V::sub(u[3], u[4]);
    to[0] = plus(u[0], 1 / n0, V::add(sum_a, sum_b));
    to[1] = plus(odd_b, b / nb, odd_a);
    to[2] = plus(sum_a, aa, plus(sum_b, bb, u[5]));
  }

  // Calls f(0), ..., f(n - 1), unrolled; not in sanitized builds, which would take minutes to
  // compile.
  template <std::size_t n, class F>
  STEN_INLINE static void loop(F f) {
    if constexpr (is_sanitized) {
      for (std::size_t i = 0; i < n; ++i) f(i);
    } else {
      each<n>(f);
    }
  }

  // Applies `of` to the rows, then to the columns, of the [m, m] that from(i, j) reads; calls to(i,
  // j, value) for the resulting [n, n].
  template <int n, int m, class From, class Of, class To>
  STEN_INLINE static void twice(From from, Of of, To to) {
    Vec half[m][n];
    loop<m>([&](auto i) STEN_INLINE {
      Vec row[m];
      loop<m>([&](auto j) STEN_INLINE { row[j] = from(i, j); });
      of(row, half[i]);
    });
    loop<n>([&](auto j) STEN_INLINE {
      Vec column[m], made[n];
      loop<m>([&](auto i) STEN_INLINE { column[i] = half[i][j]; });
      of(column, made);
      loop<n>([&](auto i) STEN_INLINE { to(i, j, made[i]); });
    });
  }

  static bool is_whole(const TilePart& p, Size n) {
    return p.row0 == 0 && p.col0 == 0 && p.row1 == n && p.col1 == n;
  }
  STEN_INLINE static bool is_in(const TilePart& p, Size row, Size col) {
    return row >= p.row0 && row < p.row1 && col >= p.col0 && col < p.col1;
  }

  // Transforms the tile [m, m] at x to the planes of `to`.
  template <int m, class Of>
  STEN_INLINE static void take(const float* x, Size row, Size channels, const TilePart& part,
                               float* to, Size plane, Of of) {
    const bool all = is_whole(part, m);
    each_vector(channels, [&](Size c, auto some) STEN_INLINE {
      const auto store = [&](auto i, auto j, Vec v)
                             STEN_INLINE { some.store(to + (i * 6 + j) * plane + c, v); };
      if (all)
        twice<6, m>([&](auto i, auto j)
                        STEN_INLINE { return some.load(x + i * row + j * channels + c); },
                    of, store);
      else
        twice<6, m>(
            [&](auto i, auto j) STEN_INLINE {
              return is_in(part, i, j) ? some.load(x + i * row + j * channels + c) : V::zero();
            },
            of, store);
    });
  }

  static void input(const float* x, Size row, Size channels, const TilePart& part, float* v,
                    Size plane) {
    take<6>(x, row, channels, part, v, plane,
            [](const Vec(&d)[6], Vec(&to)[6]) STEN_INLINE { of_input(d, to); });
  }
  static void output_gradient(const float* dy, Size row, Size channels, const TilePart& part,
                              float* z, Size plane) {
    take<4>(dy, row, channels, part, z, plane,
            [](const Vec(&y)[4], Vec(&to)[6]) STEN_INLINE { of_gradient(y, to); });
  }
  static void output(const float* m, Size plane, Size channels, const float* bias,
                     const TilePart& part, float* y, Size row) {
    const bool all = is_whole(part, 4);
    each_vector(channels, [&](Size c, auto some) STEN_INLINE {
      const Vec more = bias ? some.load(bias + c) : V::zero();
      twice<4, 6>([&](auto i, auto j)
                      STEN_INLINE { return some.load(m + (i * 6 + j) * plane + c); },
                  [](const Vec(&from)[6], Vec(&to)[4]) STEN_INLINE { of_output(from, to); },
                  [&](auto i, auto j, Vec v) STEN_INLINE {
                    if (all || is_in(part, i, j))
                      some.store(y + i * row + j * channels + c, V::add(v, more));
                  });
    });
  }
  static void filter(const float* w, Size stride, Size n, float* u, Size plane) {
    each_vector(n, [&](Size c, auto some) STEN_INLINE {
      twice<6, 3>(
          [&](auto i, auto j) STEN_INLINE { return some.load(w + (i * 3 + j) * stride + c); },
          [](const Vec(&from)[3], Vec(&to)[6]) STEN_INLINE { of_filter(from, to); },
          [&](auto i, auto j, Vec v) STEN_INLINE { some.store(u + (i * 6 + j) * plane + c, v); });
    });
  }
  static void filter_gradient(const float* du, Size plane, Size n, float* dw, Size stride) {
    each_vector(n, [&](Size c, auto some) STEN_INLINE {
      twice<3, 6>(
          [&](auto i, auto j) STEN_INLINE { return some.load(du + (i * 6 + j) * plane + c); },
          [](const Vec(&from)[6], Vec(&to)[3]) STEN_INLINE { of_filter_gradient(from, to); },
          [&](auto i, auto j, Vec v) STEN_INLINE { some.store(dw + (i * 3 + j) * stride + c, v); });
    });
  }

  static constexpr WinogradTable table() {
    return {input, output, output_gradient, filter, filter_gradient};
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
