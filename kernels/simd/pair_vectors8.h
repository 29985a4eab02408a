// Pairs of bfloat16 of 8 tokens: see kernels/simd/pair_panels_loops.h.
#pragma once
#include "kernels/simd/floats8.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // each file has its own, of its own instructions

// The functions are those of PairVectors16, each of another instruction.
struct PairVectors8 : Floats8 {
  using Words = __m256i;

  static Words load_words(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static void store_words(void* p, Words w) { _mm256_storeu_si256(static_cast<__m256i*>(p), w); }
  static Words zero_words() { return _mm256_setzero_si256(); }
  static Vec low(Words w) { return _mm256_castsi256_ps(_mm256_slli_epi32(w, 16)); }
  static Vec high(Words w) {
    return _mm256_castsi256_ps(_mm256_and_si256(w, _mm256_set1_epi32(-0x10000)));
  }

  // The bits of x, of which the upper 16 are those of the rounded number.
  static Words rounded(Vec x) {
    const Words bits = _mm256_castps_si256(x);
    const Words even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const Words near = _mm256_add_epi32(bits, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff)));
    const Words nan = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    return _mm256_blendv_epi8(near, nan, _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
  }
  static Words pack(Vec low, Vec high) {
    const Words upper = _mm256_and_si256(rounded(high), _mm256_set1_epi32(-0x10000));
    return _mm256_or_si256(_mm256_srli_epi32(rounded(low), 16), upper);
  }
};

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
