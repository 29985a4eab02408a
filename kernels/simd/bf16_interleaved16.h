// 16 pairs of bfloat16: even() and odd() are the first and the second of each, as floats.
// load_pair(p) is that of p[0..3], again and again.
#pragma once
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/simd/floats16.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // each file has its own, of its own instructions

// The functions are those of Bf16Interleaved8, each of another instruction.
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
