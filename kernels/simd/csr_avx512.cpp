#define STEN_TARGET "avx2,fma,bmi,bmi2,f16c,popcnt,avx512f,avx512cd,avx512bw,avx512dq,avx512vl"
#include <immintrin.h>

#include "kernels/simd/csr.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

constexpr int lanes = 16, vectors = panel_width / lanes;

void csr_panel(const CsrView& a, std::int64_t begin, std::int64_t end, const float* b, float* c,
               std::int64_t ldc) {
  for (std::int64_t r = begin; r < end; ++r) {
    __m512 sum[vectors];
    for (int v = 0; v < vectors; ++v) sum[v] = _mm512_setzero_ps();
    for (std::int64_t e = a.ptr[r]; e < a.ptr[r + 1]; ++e) {
      const __m512 value = _mm512_set1_ps(a.values[e]);
      const float* row = b + a.index[e] * panel_width;
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        sum[v] = _mm512_fmadd_ps(value, _mm512_loadu_ps(row + v * lanes), sum[v]);
    }
    for (int v = 0; v < vectors; ++v) _mm512_storeu_ps(c + r * ldc + v * lanes, sum[v]);
  }
}

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

CsrPanel* csr_panel_avx512() { return avx512::csr_panel; }

}  // namespace sten::kernels
