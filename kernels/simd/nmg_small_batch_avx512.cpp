// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include <immintrin.h>

#include "kernels/nmg_small_batch.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

using Int = std::int64_t;

// Columns of a chunk, looked up in `registers` vectors; 0: read from memory.
template <int registers>
struct Looked {
  const float* from;
  __m512 part[registers ? registers : 1];

  explicit Looked(const float* x) : from(x) {
    for (int i = 0; i < registers; ++i) part[i] = _mm512_loadu_ps(x + 16 * i);
  }
  __m512 at(__m512i column) const {
    if constexpr (registers == 0) return _mm512_i32gather_ps(column, from, sizeof(float));
    if constexpr (registers == 1) return _mm512_permutexvar_ps(column, part[0]);
    __m512 v = _mm512_permutex2var_ps(part[0], column, part[registers > 1]);
#pragma GCC unroll 4
    for (int i = 2; i < registers; i += 2) {  // columns from 16 i on
      const __mmask16 here = _mm512_cmpge_epi32_mask(column, _mm512_set1_epi32(16 * i));
      v = i + 1 < registers
              ? _mm512_mask_mov_ps(v, here, _mm512_permutex2var_ps(part[i], column, part[i + 1]))
              : _mm512_mask_permutexvar_ps(v, here, column, part[i]);
    }
    return v;
  }
};

// Prefetch distance of values and columns, which are read once.
constexpr Int ahead = 1024;

template <int rows, int columns, int registers>
void some_rows(const NmgLanes& a, const std::uint8_t* column, const float* value, const float* x,
               Int ldx, float* y) {
  __m512 sum[rows][columns];
  for (auto& row : sum)
    for (__m512& s : row) s = _mm512_setzero_ps();
  for (Int chunk = 0; chunk < a.chunks; ++chunk, x += a.chunk)
    for (Int e = 0; e < a.entries; ++e) {
      __m512i at[rows];
      __m512 v[rows];
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r, column += nmg_lanes, value += nmg_lanes) {
        _mm_prefetch(reinterpret_cast<const char*>(value + ahead), _MM_HINT_T0);
        if (r % 4 == 0) _mm_prefetch(reinterpret_cast<const char*>(column + ahead), _MM_HINT_T0);
        at[r] = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(column)));
        v[r] = _mm512_loadu_ps(value);
      }
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c) {
        const Looked<registers> looked(x + c * ldx);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r)
          sum[r][c] = _mm512_fmadd_ps(v[r], looked.at(at[r]), sum[r][c]);
      }
    }
  for (int c = 0; c < columns; ++c)
    for (int r = 0; r < rows; ++r) _mm512_storeu_ps(y + (c * a.m + r) * nmg_lanes, sum[r][c]);
}

template <int columns, int registers>
void all_rows(const NmgLanes& a, const float* x, Int ldx, float* y) {
  const Int row = a.chunks * a.entries * nmg_lanes;  // values
  const std::uint8_t* column = a.columns;
  const float* value = a.values;
  Int r = 0;
  for (; r + nmg_rows_at_once <= a.m; r += nmg_rows_at_once) {
    some_rows<nmg_rows_at_once, columns, registers>(a, column, value, x, ldx, y + r * nmg_lanes);
    column += nmg_rows_at_once * row;
    value += nmg_rows_at_once * row;
  }
  float* to = y + r * nmg_lanes;
  switch (a.m - r) {
    case 1:
      return some_rows<1, columns, registers>(a, column, value, x, ldx, to);
    case 2:
      return some_rows<2, columns, registers>(a, column, value, x, ldx, to);
    case 3:
      return some_rows<3, columns, registers>(a, column, value, x, ldx, to);
  }
}

template <int columns>
void with_columns(const NmgLanes& a, const float* x, Int ldx, float* y) {
  if (a.chunk <= 16) return all_rows<columns, 1>(a, x, ldx, y);
  if (a.chunk <= 32) return all_rows<columns, 2>(a, x, ldx, y);
  if (a.chunk <= 48) return all_rows<columns, 3>(a, x, ldx, y);
  if (a.chunk <= 64) return all_rows<columns, 4>(a, x, ldx, y);
  if (a.chunk <= 96) return all_rows<columns, 6>(a, x, ldx, y);
  return all_rows<columns, 0>(a, x, ldx, y);
}

constexpr NmgSmallBatchTable table{
    {with_columns<1>, with_columns<2>, with_columns<3>, with_columns<4>}};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const NmgSmallBatchTable* nmg_small_batch_avx512() { return &avx512::table; }

}  // namespace sten::kernels
