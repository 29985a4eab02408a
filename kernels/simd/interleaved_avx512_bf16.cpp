// SPDX-License-Identifier: Apache-2.0
// AVX-512 BF16: one instruction rounds 32 floats.
#define STEN_TARGET STEN_AVX512_BF16
#include "kernels/interleaved.h"
#include "kernels/simd/interleaved16.h"
#include "kernels/simd/interleaved_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512_bf16 {
namespace {

struct RoundingInterleaved16 : avx512::Interleaved16 {
  // Rounds 16 floats of x, then 16 of y.
  static Vec both(const float* x, const float* y) {
    const __m512bh v = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(y), _mm512_loadu_ps(x));
    Vec bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    return bits;
  }
  static Vec round(const float* even, const float* odd) {
    alignas(64) static constexpr std::uint16_t order[32] = {
        0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_permutexvar_epi16(_mm512_load_si512(order), both(even, odd));
  }
  static Vec round_row(const float* x) { return both(x, x + 16); }
};

}  // namespace
}  // namespace sten::kernels::avx512_bf16
STEN_TARGET_END

namespace sten::kernels {

const InterleavedTable* interleaved_avx512_bf16() {
  return &table_of<simd::InterleavedLoops<avx512_bf16::RoundingInterleaved16>>;
}

}  // namespace sten::kernels
