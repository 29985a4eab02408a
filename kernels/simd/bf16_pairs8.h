// 8 tokens of lanes, as kernels/simd/bf16_few_loops.h wants them, and pairs of bfloat16 as floats.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "kernels/simd/floats8.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // each file has its own, of its own instructions

// The functions are those of Bf16Pairs16, each of another instruction.
struct Bf16Pairs8 : Floats8 {
  using Ints = __m256i;
  static Ints load_ints(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static Ints one_pair(const std::uint8_t* p) {
    int pair;
    std::memcpy(&pair, p, sizeof pair);
    return _mm256_set1_epi32(pair);
  }
  static Ints both(Ints a, Ints b) { return _mm256_and_si256(a, b); }
  static Vec even(Ints v) { return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16)); }
  static Vec odd(Ints v) {
    return _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32(-65536)));
  }
};

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
