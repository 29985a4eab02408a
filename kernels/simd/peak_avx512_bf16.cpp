// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512_BF16
#include <immintrin.h>

#include "kernels/peak.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512_bf16 {
namespace {

double run_dot_products(std::int64_t rounds) {
  constexpr int chains = 24, feature_pairs = 32;
  const __m512i ones = _mm512_set1_epi32(0x3f803f80);  // pairs of 1.0
  __m512bh factor;
  __builtin_memcpy(&factor, &ones, sizeof factor);
  __m512 x[chains];
  for (int i = 0; i < chains; ++i) x[i] = _mm512_set1_ps(static_cast<float>(i));
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 32
    for (int i = 0; i < chains; ++i) x[i] = _mm512_dpbf16_ps(x[i], factor, factor);
  }
  __m512 sum = x[0];
  for (int i = 1; i < chains; ++i) sum = _mm512_add_ps(sum, x[i]);
  float out[16];
  _mm512_storeu_ps(out, sum);
  volatile float sink = out[0];
  (void)sink;
  return 2.0 * chains * feature_pairs * static_cast<double>(rounds);
}

}  // namespace
}  // namespace sten::kernels::avx512_bf16
STEN_TARGET_END

namespace sten::kernels {

const PeakTable* peak_avx512_bf16() {
  static constexpr PeakTable table{nullptr, avx512_bf16::run_dot_products, nullptr};
  return &table;
}

}  // namespace sten::kernels
