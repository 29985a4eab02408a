// SPDX-License-Identifier: Apache-2.0
// Pairs of bfloat16 of 8 tokens, for kernels/simd/interleaved_panels_loops.h.
#pragma once
#include "kernels/simd/bf16_interleaved8.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // a copy per file, for its own target

// The same interface as InterleavedVectors16.
struct InterleavedVectors8 : Bf16Interleaved8 {
  static void store_words(void* p, Words w) { _mm256_storeu_si256(static_cast<__m256i*>(p), w); }

  // The bits of x, whose upper 16 bits are the rounded value.
  static Words rounded(Vec x) {
    const Words bits = _mm256_castps_si256(x);
    const Words last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const Words near = _mm256_add_epi32(bits, _mm256_add_epi32(last, _mm256_set1_epi32(0x7fff)));
    const Words nan = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    return _mm256_blendv_epi8(near, nan, _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
  }
  static Words pack(Vec even, Vec odd) {
    const Words upper = _mm256_and_si256(rounded(odd), _mm256_set1_epi32(-0x10000));
    return _mm256_or_si256(_mm256_srli_epi32(rounded(even), 16), upper);
  }
};

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
