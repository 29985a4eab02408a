// SPDX-License-Identifier: Apache-2.0
// Vectors of 16 pairs of bfloat16: even() and odd() are the first and second values of the pairs,
// as floats. load_pair(p) repeats the pairs of p[0..3].
#pragma once
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/simd/floats16.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // a copy per file, for its own target

// The same interface as Bf16Interleaved8.
struct Bf16Interleaved16 : Floats16 {
  using Words = __m512i;

  static Words load_words(const void* p) { return _mm512_loadu_si512(p); }
  static Words load_pair(const std::uint8_t* p) {
    int pair;
    std::memcpy(&pair, p, sizeof pair);
    return _mm512_set1_epi32(pair);
  }
  static Words both(Words a, Words b) { return _mm512_and_si512(a, b); }
  static Vec even(Words v) { return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16)); }
  static Vec odd(Words v) {
    return _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32(-65536)));
  }
};

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
