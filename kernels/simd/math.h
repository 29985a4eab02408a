// SPDX-License-Identifier: Apache-2.0
// Mathematical functions of vectors of floats. Compiled once per ISA, for the includer's
// STEN_TARGET.
//
// V is Floats8 or Floats16. Besides arithmetic it has:
//   load_first(p, n), store_first(p, v, n)  the first n < lanes lanes; the other lanes are 0
//   first(v, others, n)         the first n lanes of v, the remaining lanes of others
//   max(a, b), min(a, b)        b if a or b is NaN
//   with_sign(x, of)            |x| with the sign of `of`
//   where_negative(x, a, b)     a where the sign bit of x is set, else b
//   nearest(x), scaled(p, k)    nearest integer, ties to even; p 2^k, rounded once
//   greatest(v)                 maximum of the lanes, without NaN
//   Doubles                     lanes of sums in double: zero, load, store, add(v), total()
#pragma once
#include <cstdint>

#include "kernels/simd/each.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

template <class V>
struct Math {
  using Vec = typename V::Vec;
  using Size = std::int64_t;

  // The part of an array that a loop handles: a whole vector, or the first n lanes of the last
  // vector.
  struct Whole {
    static Vec load(const float* p) { return V::load(p); }
    static void store(float* p, Vec v) { V::store(p, v); }
    static Vec others(Vec v, Vec) { return v; }
  };
  struct Some {
    long n;
    Vec load(const float* p) const { return V::load_first(p, n); }
    void store(float* p, Vec v) const { V::store_first(p, v, n); }
    Vec others(Vec v, Vec rest) const { return V::first(v, rest, n); }
  };
  // Calls f(i, part) for the vectors of n elements.
  template <class F>
  STEN_INLINE static void each_vector(Size n, F&& f) {
    Size i = 0;
    for (; i + V::lanes <= n; i += V::lanes) f(i, Whole{});
    if (i < n) f(i, Some{static_cast<long>(n - i)});
  }

  // c[0] x^(n-1) + ... + c[n-1]
  template <std::size_t n>
  STEN_INLINE static Vec polynomial(const float (&c)[n], Vec x) {
    Vec y = V::set(c[0]);
    each<n - 1>([&](auto i) { y = V::fma(y, x, V::set(c[i + 1])); });
    return y;
  }

  // e^x = 2^k (1 + p)
  struct Power {
    Vec k, p;
  };
  STEN_INLINE static Power power(Vec x) {
    const Vec k = V::nearest(V::mul(x, V::set(1.44269504f)));
    // ln 2 in two parts.
    Vec r = V::fnma(k, V::set(0.693147182f), x);
    r = V::fnma(k, V::set(-1.90465430e-9f), r);
    // (e^r - 1 - r) / r^2 to 7e-8 for |r| <= ln 2 / 2, by Chebyshev interpolation.
    static constexpr float c[] = {0.00139262134663f, 0.00836320297158f, 0.0416665544377f,
                                  0.16666576846f, 0.5f};
    return {k, V::fma(polynomial(c, r), V::mul(r, r), r)};
  }
  // e^x to 2 ulp.
  STEN_INLINE static Vec exp(Vec x) {
    // Outside of the bounds the result is 0 or infinity.
    const Power e = power(V::min(V::set(89), V::max(V::set(-104), x)));
    return V::scaled(V::add(V::set(1), e.p), e.k);
  }

  // 2^x for x <= 127 to 1 ulp; 0 where the result is not normal.
  STEN_INLINE static Vec exp2(Vec x) {
    const Vec bounded = V::max(V::set(-150), x), k = V::nearest(bounded), r = V::sub(bounded, k);
    // (2^r - 1) / r to 5e-9 for |r| <= 1/2, by Chebyshev interpolation.
    static constexpr float c[] = {0.0001545316294f, 0.001339086336f, 0.009618082557f,
                                  0.05550357114f,   0.2402265076f,   0.693147188f};
    return V::scaled(V::fma(polynomial(c, r), r, V::set(1)), k);
  }

  // t / (t + 2) with t = e^2|x| - 1, which keeps its precision around 0.
  STEN_INLINE static Vec tanh(Vec x) {
    const Vec a = V::abs(x);
    const Power e = power(V::min(V::set(20), V::add(a, a)));
    const Vec scale = V::scaled(V::set(1), e.k);
    const Vec t = V::fma(e.p, scale, V::sub(scale, V::set(1)));
    return V::with_sign(V::div(t, V::add(t, V::set(2))), x);
  }
  STEN_INLINE static Vec sigmoid(Vec x) {
    return V::div(V::set(1), V::add(V::set(1), exp(V::sub(V::zero(), x))));
  }

  // 1 / (1 + e^-u) with u = 2 sqrt(2 / pi) x (1 + 0.044715 x^2). `rest` is the rounding error of u,
  // which matters because u is an exponent.
  STEN_INLINE static Vec gelu_tanh_share(Vec x) {
    // Beyond this bound the result is 0 or 1, and powers of x would overflow.
    const Vec most = V::set(20), v = V::with_sign(V::min(most, V::abs(x)), x);
    const Vec one = V::set(1), cubic = V::set(0.044715f), by = V::set(1.5957691216057308f);
    const Vec square = V::mul(v, v), term = V::mul(cubic, square);
    Vec term_rest = V::fma(cubic, V::fms(v, v, square), V::fms(cubic, square, term));
    term_rest = V::fma(V::set(static_cast<float>(0.044715 - double{0.044715f})), square, term_rest);
    const Vec sum = V::add(one, term), above = V::sub(sum, one);
    const Vec sum_rest =
        V::add(V::add(V::sub(one, V::sub(sum, above)), V::sub(term, above)), term_rest);
    const Vec line = V::mul(by, v);
    const Vec line_rest =
        V::fma(V::set(static_cast<float>(1.5957691216057308 - double{1.5957691216057308f})), v,
               V::fms(by, v, line));
    const Vec u = V::mul(line, sum);
    const Vec rest = V::fma(line, sum_rest, V::fma(line_rest, sum, V::fms(line, sum, u)));
    const Vec e = exp(V::sub(V::zero(), u));
    return V::div(one, V::fma(e, V::sub(one, rest), one));
  }

  // For a standard normal X: P(X <= x), and the density at x.
  struct Normal {
    Vec below, density;
  };
  STEN_INLINE static Normal normal(Vec x) {
    const Vec z = V::min(V::set(15), V::abs(x));
    const Vec square = V::mul(z, z), half = V::set(-0.5f);
    // The rounding error of z^2, which matters in an exponent.
    const Vec rest = V::mul(half, V::fms(z, z, square));
    const Vec e = exp(V::mul(half, square));
    // e^(z^2 / 2) P(X > z) = t Q(t) with t = 1 / (1 + 0.35 z); Q to 8e-9 for z <= 15, by Chebyshev
    // interpolation.
    static constexpr float c[] = {0.005864595017f, -0.05959566061f, 0.2119622313f, -0.3411245173f,
                                  0.2254621097f,   -0.05595072592f, 0.1158559346f, 0.1178399846f,
                                  0.1400741543f,   0.1396118903f};
    const Vec t = V::div(V::set(1), V::fma(V::set(0.35f), z, V::set(1)));
    const Vec q = V::mul(t, polynomial(c, t));
    const Vec above = V::mul(e, V::fma(q, rest, q));
    const Vec density = V::mul(V::fma(e, rest, e), V::set(0.398942280f));
    return {V::where_negative(x, above, V::sub(V::set(1), above)), density};
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
