// FMA latency 4 x 2 units asks for at least 8 independent chains; 10 of them: 16 registers hold
// them and both factors.
#define STEN_TARGET "avx2,fma,bmi,bmi2,f16c,popcnt"
#include <immintrin.h>

#include "kernels/simd/peak.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

constexpr int chains = 10, lanes = 8;

double run_fmas(std::int64_t rounds) {
  const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  __m256 x[chains];
  for (int i = 0; i < chains; ++i) x[i] = _mm256_set1_ps(static_cast<float>(i));
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 32
    for (int i = 0; i < chains; ++i) x[i] = _mm256_fmadd_ps(x[i], factor, term);
  }
  __m256 sum = x[0];
  for (int i = 1; i < chains; ++i) sum = _mm256_add_ps(sum, x[i]);
  float out[lanes];
  _mm256_storeu_ps(out, sum);
  volatile float sink = out[0];
  (void)sink;
  return 2.0 * chains * lanes * static_cast<double>(rounds);
}

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

double run_fmas_avx2(std::int64_t rounds) { return avx2::run_fmas(rounds); }

}  // namespace sten::kernels
