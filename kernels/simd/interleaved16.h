// SPDX-License-Identifier: Apache-2.0
// Vectors of 16 pairs of bfloat16 with AVX-512, for kernels/simd/interleaved_loops.h.
#pragma once
#include <immintrin.h>

#include "kernels/simd/each.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {  // a copy per file, for its own target

struct Interleaved16 {
  using Vec = __m512i;
  static constexpr int lanes = 16;

  // Rounded values in the upper halves; the lower halves are undefined.
  static Vec rounded(const float* x) {
    const Vec bits = _mm512_loadu_si512(x), one = _mm512_set1_epi32(1);
    const Vec magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    const Vec odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
    Vec r = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    r = _mm512_mask_or_epi32(r, _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7f800000)),
                             bits, _mm512_set1_epi32(0x400000));
    return _mm512_mask_and_epi32(r,
                                 _mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32(0x00800000)),
                                 bits, _mm512_set1_epi32(static_cast<int>(0x80000000u)));
  }
  static Vec round(const float* even, const float* odd) {
    return _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(rounded(even), 16), rounded(odd));
  }
  static __m256i half(const float* x) {
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded(x), 16));
  }
  static Vec round_row(const float* x) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(half(x)), half(x + 16), 1);
  }
  static Vec wide(const std::uint16_t* x) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
  }
  static Vec merge(const std::uint16_t* even, const std::uint16_t* odd) {
    return _mm512_or_si512(wide(even), _mm512_slli_epi32(wide(odd), 16));
  }
  // The same for twice as many, stored to y.
  static void merge_rows(const std::uint16_t* even, const std::uint16_t* odd, std::uint16_t* y) {
    alignas(64) static constexpr std::uint16_t order[2][32] = {
        {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
         8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47},
        {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
         24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63}};
    const Vec e = _mm512_loadu_si512(even), o = _mm512_loadu_si512(odd);
    for (int i = 0; i < 2; ++i)
      _mm512_storeu_si512(y + 32 * i, _mm512_permutex2var_epi16(e, _mm512_load_si512(order[i]), o));
  }
  static Vec low(Vec v) { return _mm512_slli_epi32(v, 16); }
  static Vec high(Vec v) {
    return _mm512_and_si512(v, _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
  }

  static void stream(float* to, Vec v) { _mm512_stream_si512(reinterpret_cast<Vec*>(to), v); }

  // Transposes 32 rows of 4 floats to 4 rows of 32. Quarters of vectors are loaded directly to
  // their lanes, which needs half the shuffles of transpose(), and few registers until whole lines
  // are written.
  template <bool stream_them>
  static void transpose_rows(const float* x, std::int64_t ldx, float* y, std::int64_t ldy) {
    Vec out[2][4];
    simd::each<2>([&](auto half) {
      Vec rows[4];
      simd::each<4>([&](auto r) {
        const auto quarter = [&](std::int64_t row) {
          return _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + (half * 16 + row + r) * ldx));
        };
        Vec v = _mm512_castsi128_si512(quarter(0));
        v = _mm512_inserti32x4(v, quarter(4), 1);
        v = _mm512_inserti32x4(v, quarter(8), 2);
        rows[r] = _mm512_inserti32x4(v, quarter(12), 3);
      });
      const Vec low01 = _mm512_unpacklo_epi32(rows[0], rows[1]);
      const Vec high01 = _mm512_unpackhi_epi32(rows[0], rows[1]);
      const Vec low23 = _mm512_unpacklo_epi32(rows[2], rows[3]);
      const Vec high23 = _mm512_unpackhi_epi32(rows[2], rows[3]);
      out[half][0] = _mm512_unpacklo_epi64(low01, low23);
      out[half][1] = _mm512_unpackhi_epi64(low01, low23);
      out[half][2] = _mm512_unpacklo_epi64(high01, high23);
      out[half][3] = _mm512_unpackhi_epi64(high01, high23);
    });
    simd::each<4>([&](auto i) {
      simd::each<2>([&](auto half) {
        float* to = y + i * ldy + 16 * half;
        if constexpr (stream_them)
          stream(to, out[half][i]);
        else
          _mm512_storeu_si512(to, out[half][i]);
      });
    });
  }
  static void transpose(Vec* rows) {
    Vec a[16];
    for (int i = 0; i < 16; i += 2) {
      a[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
      a[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
      for (int j = 0; j < 2; ++j) {
        rows[i + 2 * j] = _mm512_unpacklo_epi64(a[i + j], a[i + 2 + j]);
        rows[i + 2 * j + 1] = _mm512_unpackhi_epi64(a[i + j], a[i + 2 + j]);
      }
    // rows[4 i + j] has columns j, 4 + j, 8 + j and 12 + j of rows 4 i to 4 i + 3.
    for (int j = 0; j < 4; ++j) {
      const Vec low01 = _mm512_shuffle_i32x4(rows[j], rows[4 + j], 0x44);
      const Vec high01 = _mm512_shuffle_i32x4(rows[j], rows[4 + j], 0xee);
      const Vec low23 = _mm512_shuffle_i32x4(rows[8 + j], rows[12 + j], 0x44);
      const Vec high23 = _mm512_shuffle_i32x4(rows[8 + j], rows[12 + j], 0xee);
      a[j] = _mm512_shuffle_i32x4(low01, low23, 0x88);
      a[4 + j] = _mm512_shuffle_i32x4(low01, low23, 0xdd);
      a[8 + j] = _mm512_shuffle_i32x4(high01, high23, 0x88);
      a[12 + j] = _mm512_shuffle_i32x4(high01, high23, 0xdd);
    }
    for (int i = 0; i < 16; ++i) rows[i] = a[i];
  }
};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END
