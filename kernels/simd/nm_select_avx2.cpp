// SPDX-License-Identifier: Apache-2.0
// AVX2: results of comparisons are vectors of all ones or zeros.
#define STEN_TARGET STEN_AVX2
#include <immintrin.h>

#include "kernels/nm_select.h"
#include "kernels/simd/nm_select_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

struct Common {
  using Vec = __m256i;
  using Test = __m256i;
  static Vec load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static void store(void* p, Vec v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
  static Vec choose(Test t, Vec no, Vec yes) { return _mm256_blendv_epi8(no, yes, t); }
};

// All widths have the same functions with different instructions.
template <class U>
struct Lanes;

template <>
struct Lanes<std::uint8_t> : Common {
  static constexpr std::int64_t lanes = 32;
  static Vec all(std::uint8_t v) { return _mm256_set1_epi8(static_cast<char>(v)); }
  static Vec sub(Vec a, Vec b) { return _mm256_sub_epi8(a, b); }
  static Test less(Vec a, Vec b) { return _mm256_cmpgt_epi8(b, a); }
  static Vec key(Vec v, Vec infinity) {
    return _mm256_min_epu8(_mm256_and_si256(v, all(greatest_key<std::uint8_t>)), infinity);
  }
  static Vec count_less(Vec count, Vec a, Vec b) { return sub(count, less(a, b)); }
  static std::uint64_t bits(Test test) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(test));
  }
};

template <>
struct Lanes<std::uint16_t> : Common {
  static constexpr std::int64_t lanes = 16;
  static Vec all(std::uint16_t v) { return _mm256_set1_epi16(static_cast<short>(v)); }
  static Vec sub(Vec a, Vec b) { return _mm256_sub_epi16(a, b); }
  static Test less(Vec a, Vec b) { return _mm256_cmpgt_epi16(b, a); }
  static Vec key(Vec v, Vec infinity) {
    return _mm256_min_epu16(_mm256_and_si256(v, all(greatest_key<std::uint16_t>)), infinity);
  }
  static Vec count_less(Vec count, Vec a, Vec b) { return sub(count, less(a, b)); }
  static std::uint64_t bits(Test test) {
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(test), _mm256_extracti128_si256(test, 1));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
  }
};

template <>
struct Lanes<std::uint32_t> : Common {
  static constexpr std::int64_t lanes = 8;
  static Vec all(std::uint32_t v) { return _mm256_set1_epi32(static_cast<int>(v)); }
  static Vec sub(Vec a, Vec b) { return _mm256_sub_epi32(a, b); }
  static Test less(Vec a, Vec b) { return _mm256_cmpgt_epi32(b, a); }
  static Vec key(Vec v, Vec infinity) {
    return _mm256_min_epu32(_mm256_and_si256(v, all(greatest_key<std::uint32_t>)), infinity);
  }
  static Vec count_less(Vec count, Vec a, Vec b) { return sub(count, less(a, b)); }
  static std::uint64_t bits(Test test) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(test)));
  }
};

template <>
struct Lanes<std::uint64_t> : Common {
  static constexpr std::int64_t lanes = 4;
  static Vec all(std::uint64_t v) { return _mm256_set1_epi64x(static_cast<long long>(v)); }
  static Vec sub(Vec a, Vec b) { return _mm256_sub_epi64(a, b); }
  static Test less(Vec a, Vec b) { return _mm256_cmpgt_epi64(b, a); }
  static Vec key(Vec v, Vec infinity) {
    const Vec key = _mm256_and_si256(v, all(greatest_key<std::uint64_t>));
    return _mm256_blendv_epi8(key, infinity, less(infinity, key));
  }
  static Vec count_less(Vec count, Vec a, Vec b) { return sub(count, less(a, b)); }
  static std::uint64_t bits(Test test) {
    return static_cast<std::uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(test)));
  }
};

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

const NmSelectTable* nm_select_avx2() { return &simd::NmSelects<avx2::Lanes>::table; }

}  // namespace sten::kernels
