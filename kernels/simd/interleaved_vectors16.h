// SPDX-License-Identifier: Apache-2.0
// Pairs of bfloat16 of 16 tokens, for kernels/simd/interleaved_panels_loops.h.
#pragma once
#include "kernels/simd/bf16_interleaved16.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // a copy per file, for its own target

// The same interface as InterleavedVectors8.
struct InterleavedVectors16 : Bf16Interleaved16 {
  static void store_words(void* p, Words w) { _mm512_storeu_si512(p, w); }

  // The bits of x, whose upper 16 bits are the rounded value.
  static Words rounded(Vec x) {
    const Words bits = _mm512_castps_si512(x);
    const Words last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const Words near = _mm512_add_epi32(bits, _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff)));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(near, is_nan, bits, _mm512_set1_epi32(0x400000));
  }
  static Words pack(Vec even, Vec odd) {
    const Words upper = _mm512_and_si512(rounded(odd), _mm512_set1_epi32(-0x10000));
    return _mm512_or_si512(_mm512_srli_epi32(rounded(even), 16), upper);
  }
};

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
