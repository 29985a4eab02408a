// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include <immintrin.h>

#include "kernels/nmg_small_batch.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

using Int = std::int64_t;
constexpr int lanes = 8;

// Half of the lanes of `rows` rows.
template <int rows, int columns>
void some_rows(const NmgLanes& a, const std::uint8_t* column, const float* value, const float* x,
               Int ldx, float* y) {
  __m256 sum[rows][columns];
  for (auto& row : sum)
    for (__m256& s : row) s = _mm256_setzero_ps();
  for (Int chunk = 0; chunk < a.chunks; ++chunk, x += a.chunk)
    for (Int e = 0; e < a.entries; ++e)
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r, column += nmg_lanes, value += nmg_lanes) {
        const __m256i at =
            _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(column)));
        const __m256 v = _mm256_loadu_ps(value);
#pragma GCC unroll 4
        for (int c = 0; c < columns; ++c)
          sum[r][c] =
              _mm256_fmadd_ps(v, _mm256_i32gather_ps(x + c * ldx, at, sizeof(float)), sum[r][c]);
      }
  for (int c = 0; c < columns; ++c)
    for (int r = 0; r < rows; ++r) _mm256_storeu_ps(y + (c * a.m + r) * nmg_lanes, sum[r][c]);
}

template <int columns>
void all_rows(const NmgLanes& a, const float* x, Int ldx, float* y) {
  const Int row = a.chunks * a.entries * nmg_lanes;  // values
  for (Int half = 0; half < nmg_lanes; half += lanes) {
    const std::uint8_t* column = a.columns + half;
    const float* value = a.values + half;
    Int r = 0;
    for (; r + nmg_rows_at_once <= a.m; r += nmg_rows_at_once) {
      some_rows<nmg_rows_at_once, columns>(a, column, value, x, ldx, y + r * nmg_lanes + half);
      column += nmg_rows_at_once * row;
      value += nmg_rows_at_once * row;
    }
    float* to = y + r * nmg_lanes + half;
    if (a.m - r == 1) some_rows<1, columns>(a, column, value, x, ldx, to);
    if (a.m - r == 2) some_rows<2, columns>(a, column, value, x, ldx, to);
    if (a.m - r == 3) some_rows<3, columns>(a, column, value, x, ldx, to);
  }
}

constexpr NmgSmallBatchTable table{{all_rows<1>, all_rows<2>, all_rows<3>, all_rows<4>}};

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

const NmgSmallBatchTable* nmg_small_batch_avx2() { return &avx2::table; }

}  // namespace sten::kernels
