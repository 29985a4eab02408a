// SPDX-License-Identifier: Apache-2.0
// AVX-512: results of comparisons are mask registers.
#define STEN_TARGET STEN_AVX512
#include <immintrin.h>

#include "kernels/nm_select.h"
#include "kernels/simd/nm_select_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

struct Common {
  using Vec = __m512i;
  static Vec load(const void* p) { return _mm512_loadu_si512(p); }
  static void store(void* p, Vec v) { _mm512_storeu_si512(p, v); }
  static std::uint64_t bits(std::uint64_t test) { return test; }
};

// All widths have the same functions with different instructions.
template <class U>
struct Lanes;

template <>
struct Lanes<std::uint8_t> : Common {
  using Test = __mmask64;
  static constexpr std::int64_t lanes = 64;
  static Vec all(std::uint8_t v) { return _mm512_set1_epi8(static_cast<char>(v)); }
  static Vec sub(Vec a, Vec b) { return _mm512_sub_epi8(a, b); }
  static Vec key(Vec v, Vec infinity) {
    return _mm512_min_epu8(_mm512_and_si512(v, all(greatest_key<std::uint8_t>)), infinity);
  }
  static Test less(Vec a, Vec b) { return _mm512_cmplt_epi8_mask(a, b); }
  static Vec choose(Test t, Vec no, Vec yes) { return _mm512_mask_blend_epi8(t, no, yes); }
  static Vec count_less(Vec count, Vec a, Vec b) {
    return _mm512_mask_add_epi8(count, less(a, b), count, all(1));
  }
};

template <>
struct Lanes<std::uint16_t> : Common {
  using Test = __mmask32;
  static constexpr std::int64_t lanes = 32;
  static Vec all(std::uint16_t v) { return _mm512_set1_epi16(static_cast<short>(v)); }
  static Vec sub(Vec a, Vec b) { return _mm512_sub_epi16(a, b); }
  static Vec key(Vec v, Vec infinity) {
    return _mm512_min_epu16(_mm512_and_si512(v, all(greatest_key<std::uint16_t>)), infinity);
  }
  static Test less(Vec a, Vec b) { return _mm512_cmplt_epi16_mask(a, b); }
  static Vec choose(Test t, Vec no, Vec yes) { return _mm512_mask_blend_epi16(t, no, yes); }
  static Vec count_less(Vec count, Vec a, Vec b) {
    return _mm512_mask_add_epi16(count, less(a, b), count, all(1));
  }
};

template <>
struct Lanes<std::uint32_t> : Common {
  using Test = __mmask16;
  static constexpr std::int64_t lanes = 16;
  static Vec all(std::uint32_t v) { return _mm512_set1_epi32(static_cast<int>(v)); }
  static Vec sub(Vec a, Vec b) { return _mm512_sub_epi32(a, b); }
  static Vec key(Vec v, Vec infinity) {
    return _mm512_min_epu32(_mm512_and_si512(v, all(greatest_key<std::uint32_t>)), infinity);
  }
  static Test less(Vec a, Vec b) { return _mm512_cmplt_epi32_mask(a, b); }
  static Vec choose(Test t, Vec no, Vec yes) { return _mm512_mask_blend_epi32(t, no, yes); }
  static Vec count_less(Vec count, Vec a, Vec b) {
    return _mm512_mask_add_epi32(count, less(a, b), count, all(1));
  }
};

template <>
struct Lanes<std::uint64_t> : Common {
  using Test = __mmask8;
  static constexpr std::int64_t lanes = 8;
  static Vec all(std::uint64_t v) { return _mm512_set1_epi64(static_cast<long long>(v)); }
  static Vec sub(Vec a, Vec b) { return _mm512_sub_epi64(a, b); }
  static Vec key(Vec v, Vec infinity) {
    return _mm512_min_epu64(_mm512_and_si512(v, all(greatest_key<std::uint64_t>)), infinity);
  }
  static Test less(Vec a, Vec b) { return _mm512_cmplt_epi64_mask(a, b); }
  static Vec choose(Test t, Vec no, Vec yes) { return _mm512_mask_blend_epi64(t, no, yes); }
  static Vec count_less(Vec count, Vec a, Vec b) {
    return _mm512_mask_add_epi64(count, less(a, b), count, all(1));
  }
};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const NmSelectTable* nm_select_avx512() { return &simd::NmSelects<avx512::Lanes>::table; }

}  // namespace sten::kernels
