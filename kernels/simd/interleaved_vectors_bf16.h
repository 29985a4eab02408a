// SPDX-License-Identifier: Apache-2.0
// InterleavedVectors16 for processors with AVX-512 BF16.
#pragma once
#include "kernels/simd/interleaved_vectors16.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // a copy per file, for its own target

struct InterleavedVectorsBf16 : InterleavedVectors16 {
  static Words pack(Vec even, Vec odd) {
    const Words order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, (Words)_mm512_cvtne2ps_pbh(odd, even));
  }
};

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
