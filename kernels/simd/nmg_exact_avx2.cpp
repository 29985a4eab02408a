// SPDX-License-Identifier: Apache-2.0
// AVX2: results of comparisons are vectors of all ones or zeros.
#define STEN_TARGET STEN_AVX2
#include <immintrin.h>

#include "kernels/nmg_exact.h"
#include "kernels/simd/nmg_exact_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

struct Lanes {
  using Vec = __m256i;
  using Test = __m256i;
  using First = __m256i;
  static constexpr std::int32_t lanes = 8;

  static Vec all(std::int32_t v) { return _mm256_set1_epi32(v); }
  static Vec load(const std::int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void store(std::int32_t* p, Vec v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static Vec add(Vec a, Vec b) { return _mm256_add_epi32(a, b); }
  static Vec sub(Vec a, Vec b) { return _mm256_sub_epi32(a, b); }
  static Vec min(Vec a, Vec b) { return _mm256_min_epi32(a, b); }
  static Vec max(Vec a, Vec b) { return _mm256_max_epi32(a, b); }
  static Vec unsigned_min(Vec a, Vec b) { return _mm256_min_epu32(a, b); }
  static Vec shift_right(Vec a, int by) { return _mm256_srl_epi32(a, _mm_cvtsi32_si128(by)); }
  static Test less(Vec a, Vec b) { return _mm256_cmpgt_epi32(b, a); }
  static Test equal(Vec a, Vec b) { return _mm256_cmpeq_epi32(a, b); }
  static std::uint32_t bits(Test t) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(t)));
  }
  static Vec blend(Test t, Vec no, Vec yes) { return _mm256_blendv_epi8(no, yes, t); }

  static First first(std::int32_t n) {
    return _mm256_cmpgt_epi32(all(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Vec magnitudes(const float* p) {
    return _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(p)), all(0x7fffffff));
  }
  static Vec magnitudes(const float* p, First lane_mask) {
    return _mm256_and_si256(_mm256_castps_si256(_mm256_maskload_ps(p, lane_mask)), all(0x7fffffff));
  }
  static Vec scaled(Vec v, float by) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_castsi256_ps(v), _mm256_set1_ps(by)));
  }
  static std::int32_t least(Vec v) {
    __m128i a = _mm_min_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    a = _mm_min_epi32(a, _mm_shuffle_epi32(a, 0x4e));
    return _mm_cvtsi128_si32(_mm_min_epi32(a, _mm_shuffle_epi32(a, 0xb1)));
  }
  static std::int32_t greatest(Vec v) {
    __m128i a = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    a = _mm_max_epi32(a, _mm_shuffle_epi32(a, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(a, _mm_shuffle_epi32(a, 0xb1)));
  }
  static std::uint32_t unsigned_least(Vec v) {
    __m128i a = _mm_min_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    a = _mm_min_epu32(a, _mm_shuffle_epi32(a, 0x4e));
    return static_cast<std::uint32_t>(
        _mm_cvtsi128_si32(_mm_min_epu32(a, _mm_shuffle_epi32(a, 0xb1))));
  }
  static std::int64_t sum(Vec v) {
    const Vec wide = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(v)),
                                      _mm256_cvtepi32_epi64(_mm256_extracti128_si256(v, 1)));
    const __m128i a =
        _mm_add_epi64(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    return _mm_cvtsi128_si64(a) + _mm_extract_epi64(a, 1);
  }
  static Vec load_narrow(const std::uint16_t* p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static void store_narrow(std::uint16_t* p, Vec v) {
    const __m128i a = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), a);
  }
  // to[lane * stride + i] is lane `lane` of argument i.
  static void store_transposed(std::int32_t* to, std::int64_t stride, Vec a, Vec b, Vec c, Vec d) {
    const Vec ab = _mm256_unpacklo_epi32(a, b), ab2 = _mm256_unpackhi_epi32(a, b),
              cd = _mm256_unpacklo_epi32(c, d), cd2 = _mm256_unpackhi_epi32(c, d);
    const Vec rows[4] = {_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd),
                         _mm256_unpacklo_epi64(ab2, cd2), _mm256_unpackhi_epi64(ab2, cd2)};
    for (int i = 0; i < 4; ++i) {
      store128(to + i * stride, _mm256_castsi256_si128(rows[i]));
      store128(to + (i + 4) * stride, _mm256_extracti128_si256(rows[i], 1));
    }
  }
  static void store128(std::int32_t* p, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
};

constexpr NmgExactTable table{simd::NmgExactFits<Lanes>::scratch, simd::NmgExactFits<Lanes>::fit,
                              nmg_exact_wide};

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

const NmgExactTable* nmg_exact_avx2() { return &avx2::table; }

}  // namespace sten::kernels
