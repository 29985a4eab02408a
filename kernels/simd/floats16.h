// 16 floats, as the loops over panels want them: one(p) is *p in all lanes, four(p) p[0..3] again
// and again, pick<i>(v) the i-th of these in all lanes.
#pragma once
#include <immintrin.h>

#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // each file has its own, of its own instructions

struct Floats16 {
  using Vec = __m512;
  static constexpr int lanes = 16;

  static Vec zero() { return _mm512_setzero_ps(); }
  static Vec load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
  static Vec one(const float* p) { return _mm512_set1_ps(*p); }
  static Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
  static Vec four(const float* p) { return _mm512_broadcast_f32x4(_mm_loadu_ps(p)); }
  template <int i>
  static Vec pick(Vec v) {
    return _mm512_permute_ps(v, i * 0x55);
  }
};

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
