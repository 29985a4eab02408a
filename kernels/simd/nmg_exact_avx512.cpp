// SPDX-License-Identifier: Apache-2.0
// AVX-512: results of comparisons are mask registers.
#define STEN_TARGET STEN_AVX512
#include <immintrin.h>

#include "kernels/nmg_exact.h"
#include "kernels/simd/nmg_exact_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

struct Lanes {
  using Vec = __m512i;
  using Test = __mmask16;
  using First = __mmask16;
  static constexpr std::int32_t lanes = 16;

  static Vec all(std::int32_t v) { return _mm512_set1_epi32(v); }
  static Vec load(const std::int32_t* p) { return _mm512_loadu_si512(p); }
  static void store(std::int32_t* p, Vec v) { _mm512_storeu_si512(p, v); }
  static Vec add(Vec a, Vec b) { return _mm512_add_epi32(a, b); }
  static Vec sub(Vec a, Vec b) { return _mm512_sub_epi32(a, b); }
  static Vec min(Vec a, Vec b) { return _mm512_min_epi32(a, b); }
  static Vec max(Vec a, Vec b) { return _mm512_max_epi32(a, b); }
  static Vec unsigned_min(Vec a, Vec b) { return _mm512_min_epu32(a, b); }
  static Vec shift_right(Vec a, int by) { return _mm512_srl_epi32(a, _mm_cvtsi32_si128(by)); }
  static Test less(Vec a, Vec b) { return _mm512_cmplt_epi32_mask(a, b); }
  static Test equal(Vec a, Vec b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static std::uint32_t bits(Test t) { return t; }
  static Vec blend(Test t, Vec no, Vec yes) { return _mm512_mask_blend_epi32(t, no, yes); }

  static First first(std::int32_t n) { return static_cast<First>((1u << n) - 1); }
  static Vec magnitudes(const float* p) {
    return _mm512_and_si512(_mm512_loadu_si512(p), all(0x7fffffff));
  }
  static Vec magnitudes(const float* p, First lane_mask) {
    return _mm512_and_si512(_mm512_maskz_loadu_epi32(lane_mask, p), all(0x7fffffff));
  }
  static Vec scaled(Vec v, float by) {
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_castsi512_ps(v), _mm512_set1_ps(by)));
  }
  static std::int32_t least(Vec v) { return _mm512_reduce_min_epi32(v); }
  static std::int32_t greatest(Vec v) { return _mm512_reduce_max_epi32(v); }
  static std::uint32_t unsigned_least(Vec v) { return _mm512_reduce_min_epu32(v); }
  static std::int64_t sum(Vec v) {
    return _mm512_reduce_add_epi64(
        _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(v)),
                         _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1))));
  }
  static Vec load_narrow(const std::uint16_t* p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void store_narrow(std::uint16_t* p, Vec v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(v));
  }
  // to[lane * stride + i] is lane `lane` of argument i.
  static void store_transposed(std::int32_t* to, std::int64_t stride, Vec a, Vec b, Vec c, Vec d) {
    const Vec ab = _mm512_unpacklo_epi32(a, b), ab2 = _mm512_unpackhi_epi32(a, b),
              cd = _mm512_unpacklo_epi32(c, d), cd2 = _mm512_unpackhi_epi32(c, d);
    const Vec rows[4] = {_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd),
                         _mm512_unpacklo_epi64(ab2, cd2), _mm512_unpackhi_epi64(ab2, cd2)};
    for (int i = 0; i < 4; ++i) {
      std::int32_t* at = to + i * stride;
      store128(at, _mm512_castsi512_si128(rows[i]));
      store128(at + 4 * stride, _mm512_extracti32x4_epi32(rows[i], 1));
      store128(at + 8 * stride, _mm512_extracti32x4_epi32(rows[i], 2));
      store128(at + 12 * stride, _mm512_extracti32x4_epi32(rows[i], 3));
    }
  }
  static void store128(std::int32_t* p, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
};

constexpr NmgExactTable table{simd::NmgExactFits<Lanes>::scratch, simd::NmgExactFits<Lanes>::fit,
                              nmg_exact_wide};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const NmgExactTable* nmg_exact_avx512() { return &avx512::table; }

}  // namespace sten::kernels
