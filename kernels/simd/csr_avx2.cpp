#define STEN_TARGET "avx2,fma,bmi,bmi2,f16c,popcnt"
#include <immintrin.h>

#include "kernels/simd/csr.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

constexpr int lanes = 8, vectors = panel_width / lanes;

void csr_panel(const CsrView& a, std::int64_t begin, std::int64_t end, const float* b, float* c,
               std::int64_t ldc) {
  for (std::int64_t r = begin; r < end; ++r) {
    __m256 sum[vectors];
    for (int v = 0; v < vectors; ++v) sum[v] = _mm256_setzero_ps();
    for (std::int64_t e = a.ptr[r]; e < a.ptr[r + 1]; ++e) {
      const __m256 value = _mm256_set1_ps(a.values[e]);
      const float* row = b + a.index[e] * panel_width;
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        sum[v] = _mm256_fmadd_ps(value, _mm256_loadu_ps(row + v * lanes), sum[v]);
    }
    for (int v = 0; v < vectors; ++v) _mm256_storeu_ps(c + r * ldc + v * lanes, sum[v]);
  }
}

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

CsrPanel* csr_panel_avx2() { return avx2::csr_panel; }

}  // namespace sten::kernels
