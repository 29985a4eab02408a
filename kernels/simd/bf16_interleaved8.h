// SPDX-License-Identifier: Apache-2.0
// Vectors of 8 pairs of bfloat16: even() and odd() are the first and second values of the pairs, as
// floats. load_pair(p) repeats the pairs of p[0..3].
#pragma once
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/simd/floats8.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // a copy per file, for its own target

// The same interface as Bf16Interleaved16.
struct Bf16Interleaved8 : Floats8 {
  using Words = __m256i;

  static Words load_words(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static Words load_pair(const std::uint8_t* p) {
    int pair;
    std::memcpy(&pair, p, sizeof pair);
    return _mm256_set1_epi32(pair);
  }
  static Words both(Words a, Words b) { return _mm256_and_si256(a, b); }
  static Vec even(Words v) { return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16)); }
  static Vec odd(Words v) {
    return _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32(-65536)));
  }
};

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
