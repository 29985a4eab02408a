// 8 floats, as the loops over panels want them: one(p) is *p in all lanes, four(p) p[0..3] again
// and again, pick<i>(v) the i-th of these in all lanes.
#pragma once
#include <immintrin.h>

#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // each file has its own, of its own instructions

struct Floats8 {
  using Vec = __m256;
  static constexpr int lanes = 8;

  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
  static Vec one(const float* p) { return _mm256_set1_ps(*p); }
  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  static Vec four(const float* p) {
    return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(p));
  }
  template <int i>
  static Vec pick(Vec v) {
    return _mm256_permute_ps(v, i * 0x55);
  }
};

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
