// SPDX-License-Identifier: Apache-2.0
// Vectors of 16 floats for the loops over panels and for kernels/simd/math.h: one(p) is *p in all
// lanes, four(p) repeats p[0..3], pick<i>(v) is element i of four() in all lanes.
#pragma once
#include <immintrin.h>

#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // a copy per file, for its own target

// The same interface as Floats8.
struct Floats16 {
  using Vec = __m512;
  static constexpr int lanes = 16;

  static Vec zero() { return _mm512_setzero_ps(); }
  static Vec load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
  static Vec one(const float* p) { return _mm512_set1_ps(*p); }
  // v, which the compiler keeps in a register instead of reloading it at each use.
  static Vec in_register(Vec v) {
    asm("" : "+v"(v));
    return v;
  }
  static Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
  static Vec four(const float* p) { return _mm512_broadcast_f32x4(_mm_loadu_ps(p)); }
  template <int i>
  static Vec broadcast_lane(Vec v) {
    return _mm512_permute_ps(v, i * 0x55);
  }

  static Vec set(float x) { return _mm512_set1_ps(x); }
  static Vec load_first(const float* p, long n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
  static void store_first(float* p, Vec v, long n) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }
  static Vec first(Vec v, Vec others, long n) {
    return _mm512_mask_blend_ps(first_lanes(n), others, v);
  }
  static Vec sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
  static Vec div(Vec a, Vec b) { return _mm512_div_ps(a, b); }
  static Vec fnma(Vec a, Vec b, Vec c) { return _mm512_fnmadd_ps(a, b, c); }
  static Vec fms(Vec a, Vec b, Vec c) { return _mm512_fmsub_ps(a, b, c); }
  static Vec max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
  static Vec min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
  static Vec sqrt(Vec x) { return _mm512_sqrt_ps(x); }
  static Vec abs(Vec x) { return _mm512_andnot_ps(set(-0.0f), x); }
  static Vec with_sign(Vec x, Vec of) {
    return _mm512_or_ps(abs(x), _mm512_and_ps(set(-0.0f), of));
  }
  static Vec where_negative(Vec x, Vec a, Vec b) {
    return _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(x)), b, a);
  }
  static float greatest(Vec v) { return _mm512_reduce_max_ps(v); }
  static Vec nearest(Vec x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | 8); }
  static Vec scaled(Vec p, Vec k) { return _mm512_scalef_ps(p, k); }
  static void widen(Vec v, __m512d& low, __m512d& high) {
    low = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
  }

  struct Doubles {
    __m512d low, high;

    static Doubles zero() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
    static Doubles load(const double* p) { return {_mm512_loadu_pd(p), _mm512_loadu_pd(p + 8)}; }
    void store(double* p) const {
      _mm512_storeu_pd(p, low);
      _mm512_storeu_pd(p + 8, high);
    }
    double total() const { return _mm512_reduce_add_pd(_mm512_add_pd(low, high)); }
    void add(Vec v) {
      __m512d l, h;
      widen(v, l, h);
      low = _mm512_add_pd(low, l);
      high = _mm512_add_pd(high, h);
    }
  };

 private:
  static __mmask16 first_lanes(long n) { return static_cast<__mmask16>((1u << n) - 1); }
};

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
