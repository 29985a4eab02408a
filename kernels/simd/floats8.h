// SPDX-License-Identifier: Apache-2.0
// Vectors of 8 floats for the loops over panels and for kernels/simd/math.h: one(p) is *p in all
// lanes, four(p) repeats p[0..3], pick<i>(v) is element i of four() in all lanes.
#pragma once
#include <immintrin.h>

#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // a copy per file, for its own target

// The same interface as Floats16.
struct Floats8 {
  using Vec = __m256;
  static constexpr int lanes = 8;

  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
  static Vec one(const float* p) { return _mm256_set1_ps(*p); }
  // v, which the compiler keeps in a register instead of reloading it at each use.
  static Vec in_register(Vec v) {
    asm("" : "+x"(v));
    return v;
  }
  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  static Vec four(const float* p) {
    return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(p));
  }
  template <int i>
  static Vec broadcast_lane(Vec v) {
    return _mm256_permute_ps(v, i * 0x55);
  }

  static Vec set(float x) { return _mm256_set1_ps(x); }
  static Vec load_first(const float* p, long n) { return _mm256_maskload_ps(p, first_lanes(n)); }
  static void store_first(float* p, Vec v, long n) { _mm256_maskstore_ps(p, first_lanes(n), v); }
  static Vec first(Vec v, Vec others, long n) {
    return _mm256_blendv_ps(others, v, _mm256_castsi256_ps(first_lanes(n)));
  }
  static Vec sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
  static Vec div(Vec a, Vec b) { return _mm256_div_ps(a, b); }
  static Vec fnma(Vec a, Vec b, Vec c) { return _mm256_fnmadd_ps(a, b, c); }
  static Vec fms(Vec a, Vec b, Vec c) { return _mm256_fmsub_ps(a, b, c); }
  static Vec max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
  static Vec min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
  static Vec sqrt(Vec x) { return _mm256_sqrt_ps(x); }
  static Vec abs(Vec x) { return _mm256_andnot_ps(set(-0.0f), x); }
  static Vec with_sign(Vec x, Vec of) {
    return _mm256_or_ps(abs(x), _mm256_and_ps(set(-0.0f), of));
  }
  static Vec where_negative(Vec x, Vec a, Vec b) { return _mm256_blendv_ps(b, a, x); }
  static float greatest(Vec v) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
  }
  static Vec nearest(Vec x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | 8); }
  // In two steps, whose factors are both normal.
  static Vec scaled(Vec p, Vec k) {
    const __m256i whole = _mm256_cvtps_epi32(k), half = _mm256_srai_epi32(whole, 1);
    return mul(mul(p, power(half)), power(_mm256_sub_epi32(whole, half)));
  }
  static void widen(Vec v, __m256d& low, __m256d& high) {
    low = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
    high = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
  }

  struct Doubles {
    __m256d low, high;

    static Doubles zero() { return {_mm256_setzero_pd(), _mm256_setzero_pd()}; }
    static Doubles load(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
    void store(double* p) const {
      _mm256_storeu_pd(p, low);
      _mm256_storeu_pd(p + 4, high);
    }
    double total() const {
      const __m256d all = _mm256_add_pd(low, high);
      const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(all), _mm256_extractf128_pd(all, 1));
      return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
    }
    void add(Vec v) {
      __m256d l, h;
      widen(v, l, h);
      low = _mm256_add_pd(low, l);
      high = _mm256_add_pd(high, h);
    }
  };

 private:
  static __m256i first_lanes(long n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Vec power(__m256i k) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(k, _mm256_set1_epi32(127)), 23));
  }
};

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
