// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include <immintrin.h>

#include "kernels/interleaved.h"
#include "kernels/simd/interleaved_loops.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

// Vectors of 8 pairs, with the interface of kernels/simd/interleaved16.h.
struct Interleaved8 {
  using Vec = __m256i;
  static constexpr int lanes = 8;

  static Vec load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static Vec rounded(const float* x) {
    const Vec bits = load(x), one = _mm256_set1_epi32(1);
    const Vec magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    const Vec odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    Vec r = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    r = _mm256_blendv_epi8(r, _mm256_or_si256(bits, _mm256_set1_epi32(0x400000)),
                           _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000)));
    return _mm256_blendv_epi8(
        r, _mm256_and_si256(bits, _mm256_set1_epi32(static_cast<int>(0x80000000u))),
        _mm256_cmpgt_epi32(_mm256_set1_epi32(0x00800000), magnitude));
  }
  static Vec round(const float* even, const float* odd) {
    return _mm256_blend_epi16(_mm256_srli_epi32(rounded(even), 16), rounded(odd), 0xaa);
  }
  static Vec round_row(const float* x) {
    const Vec packed = _mm256_packus_epi32(_mm256_srli_epi32(rounded(x), 16),
                                           _mm256_srli_epi32(rounded(x + 8), 16));
    return _mm256_permute4x64_epi64(packed, 0xd8);
  }
  static Vec wide(const std::uint16_t* x) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  }
  static Vec merge(const std::uint16_t* even, const std::uint16_t* odd) {
    return _mm256_or_si256(wide(even), _mm256_slli_epi32(wide(odd), 16));
  }
  static Vec low(Vec v) { return _mm256_slli_epi32(v, 16); }
  static Vec high(Vec v) {
    return _mm256_and_si256(v, _mm256_set1_epi32(static_cast<int>(0xffff0000u)));
  }

  static void stream(float* to, Vec v) { _mm256_stream_si256(reinterpret_cast<Vec*>(to), v); }

  static void transpose(Vec* rows) {
    Vec a[8];
    for (int i = 0; i < 8; i += 2) {
      a[i] = _mm256_unpacklo_epi32(rows[i], rows[i + 1]);
      a[i + 1] = _mm256_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
      for (int j = 0; j < 2; ++j) {
        rows[i + 2 * j] = _mm256_unpacklo_epi64(a[i + j], a[i + 2 + j]);
        rows[i + 2 * j + 1] = _mm256_unpackhi_epi64(a[i + j], a[i + 2 + j]);
      }
    for (int j = 0; j < 4; ++j) {
      a[j] = _mm256_permute2x128_si256(rows[j], rows[4 + j], 0x20);
      a[4 + j] = _mm256_permute2x128_si256(rows[j], rows[4 + j], 0x31);
    }
    for (int i = 0; i < 8; ++i) rows[i] = a[i];
  }
};

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

const InterleavedTable* interleaved_avx2() {
  return &table_of<simd::InterleavedLoops<avx2::Interleaved8>>;
}

}  // namespace sten::kernels
