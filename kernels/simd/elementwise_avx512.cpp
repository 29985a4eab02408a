// SPDX-License-Identifier: Apache-2.0
// AVX-512: masks are registers, and the bits of a block are concatenated results of comparisons.
#define STEN_TARGET STEN_AVX512
#include <immintrin.h>

#include "kernels/elementwise.h"
#include "kernels/simd/elementwise_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

using simd::Word;

// Operations by width. Keys are compared as signed integers, because they are not negative.
template <class U>
struct Lanes;

template <>
struct Lanes<std::uint8_t> {
  static __m512i all(std::uint8_t v) { return _mm512_set1_epi8(static_cast<char>(v)); }
  static Word above(__m512i a, __m512i b) { return _mm512_cmpgt_epi8_mask(a, b); }
  static Word equal(__m512i a, __m512i b) { return _mm512_cmpeq_epi8_mask(a, b); }
  static Word nonzero(__m512i a) { return _mm512_test_epi8_mask(a, a); }
  static __m512i mask(Word m, __m512i a) { return _mm512_maskz_mov_epi8(m, a); }
};

template <>
struct Lanes<std::uint16_t> {
  static __m512i all(std::uint16_t v) { return _mm512_set1_epi16(static_cast<short>(v)); }
  static Word above(__m512i a, __m512i b) { return _mm512_cmpgt_epi16_mask(a, b); }
  static Word equal(__m512i a, __m512i b) { return _mm512_cmpeq_epi16_mask(a, b); }
  static Word nonzero(__m512i a) { return _mm512_test_epi16_mask(a, a); }
  static __m512i mask(Word m, __m512i a) {
    return _mm512_maskz_mov_epi16(static_cast<__mmask32>(m), a);
  }
};

template <>
struct Lanes<std::uint32_t> {
  static __m512i all(std::uint32_t v) { return _mm512_set1_epi32(static_cast<int>(v)); }
  static Word above(__m512i a, __m512i b) { return _mm512_cmpgt_epi32_mask(a, b); }
  static Word equal(__m512i a, __m512i b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static Word nonzero(__m512i a) { return _mm512_test_epi32_mask(a, a); }
  static __m512i mask(Word m, __m512i a) {
    return _mm512_maskz_mov_epi32(static_cast<__mmask16>(m), a);
  }
};

template <>
struct Lanes<std::uint64_t> {
  static __m512i all(std::uint64_t v) { return _mm512_set1_epi64(static_cast<long long>(v)); }
  static Word above(__m512i a, __m512i b) { return _mm512_cmpgt_epi64_mask(a, b); }
  static Word equal(__m512i a, __m512i b) { return _mm512_cmpeq_epi64_mask(a, b); }
  static Word nonzero(__m512i a) { return _mm512_test_epi64_mask(a, a); }
  static __m512i mask(Word m, __m512i a) {
    return _mm512_maskz_mov_epi64(static_cast<__mmask8>(m), a);
  }
};

// Loads 8 elements of 2 or 1 bytes as 16-bit integers.
__m128i load8(const std::uint16_t* x) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
}
__m128i load8(const std::uint8_t* x) { return _mm_cvtepu8_epi16(_mm_loadu_si64(x)); }

// 8 elements as floats, up to their signs. The conversions are exact; the AVX2 table has them for 4
// elements.
template <FloatKind type, class U>
__m256 floats(const U* x) {
  if constexpr (type == FloatKind::f32) return _mm256_loadu_ps(reinterpret_cast<const float*>(x));
  if constexpr (type == FloatKind::f16) return _mm256_cvtph_ps(load8(x));
  if constexpr (type == FloatKind::bf16)
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load8(x)), 16));
  if constexpr (type == FloatKind::f8_e5m2) return _mm256_cvtph_ps(_mm_slli_epi16(load8(x), 8));
}
template <>
__m256 floats<FloatKind::f8_e4m3>(const std::uint8_t* x) {
  // Converts by way of binary16, whose bias is 8 greater.
  const __m128i keys = _mm_set1_epi16(0x7f), key = _mm_and_si128(load8(x), keys);
  const __m128i half = _mm_or_si128(_mm_slli_epi16(key, 7), _mm_cmpeq_epi16(key, keys));
  return _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(256));
}
template <FloatKind type, class U>
__m512d magnitudes(const U* x) {
  if constexpr (type == FloatKind::f64)
    return _mm512_abs_pd(_mm512_loadu_pd(x));
  else
    return _mm512_abs_pd(_mm512_cvtps_pd(floats<type>(x)));
}

struct Vectors {
  template <class U>
  static constexpr int lanes = 64 / sizeof(U);
  template <class U>
  static constexpr bool packs = sizeof(U) >= 4;  // 1 and 2 bytes need VBMI2

  // The bits of f(64 bytes of the block), concatenated.
  template <class U, class F>
  static Word word_of(const U* x, F&& f) {
    Word word = 0;
    for (int i = 0; i < 64; i += lanes<U>) word |= f(_mm512_loadu_si512(x + i)) << i;
    return word;
  }

  template <class U>
  static Word above(const U* x, U boundary) {
    const __m512i keys = Lanes<U>::all(greatest_key<U>), b = Lanes<U>::all(boundary);
    return word_of(x, [&](__m512i v) { return Lanes<U>::above(_mm512_and_si512(v, keys), b); });
  }

  template <class U>
  static Word equal(const U* x, U key) {
    const __m512i keys = Lanes<U>::all(greatest_key<U>), k = Lanes<U>::all(key);
    return word_of(x, [&](__m512i v) { return Lanes<U>::equal(_mm512_and_si512(v, keys), k); });
  }

  template <class U>
  static Word nonzero(const U* x) {
    return word_of(x, [](__m512i v) { return Lanes<U>::nonzero(v); });
  }

  template <class U>
  static void mask(const U* x, Word word, U* out) {
    for (int i = 0; i < 64; i += lanes<U>)
      _mm512_storeu_si512(out + i, Lanes<U>::mask(word >> i, _mm512_loadu_si512(x + i)));
  }

  static void compress(const std::uint32_t* x, Word word, std::uint32_t* out) {
    for (int i = 0; i < 64; i += 16) {
      const auto m = static_cast<__mmask16>(word >> i);
      _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(m, _mm512_loadu_si512(x + i)));
      out += std::popcount(static_cast<unsigned>(m));
    }
  }
  static void compress(const std::uint64_t* x, Word word, std::uint64_t* out) {
    for (int i = 0; i < 64; i += 8) {
      const auto m = static_cast<__mmask8>(word >> i);
      _mm512_storeu_si512(out, _mm512_maskz_compress_epi64(m, _mm512_loadu_si512(x + i)));
      out += std::popcount(static_cast<unsigned>(m));
    }
  }

  static void expand(const std::uint32_t* x, Word word, std::uint32_t* out) {
    for (int i = 0; i < 64; i += 16) {
      const auto m = static_cast<__mmask16>(word >> i);
      _mm512_storeu_si512(out + i, _mm512_maskz_expand_epi32(m, _mm512_loadu_si512(x)));
      x += std::popcount(static_cast<unsigned>(m));
    }
  }
  static void expand(const std::uint64_t* x, Word word, std::uint64_t* out) {
    for (int i = 0; i < 64; i += 8) {
      const auto m = static_cast<__mmask8>(word >> i);
      _mm512_storeu_si512(out + i, _mm512_maskz_expand_epi64(m, _mm512_loadu_si512(x)));
      x += std::popcount(static_cast<unsigned>(m));
    }
  }

  struct Sums {
    __m512d all0, all1, kept0, kept1;

    template <FloatKind type, class U>
    void add(const U* x, std::uint16_t bits) {
      add(magnitudes<type>(x), static_cast<__mmask8>(bits), all0, kept0);
      add(magnitudes<type>(x + 8), static_cast<__mmask8>(bits >> 8), all1, kept1);
    }
    static void add(__m512d v, __mmask8 keep, __m512d& all, __m512d& kept) {
      all = _mm512_add_pd(all, v);
      kept = _mm512_mask_add_pd(kept, keep, kept, v);
    }
    void store(double (&all)[16], double (&kept)[16]) const {
      _mm512_storeu_pd(all, all0);
      _mm512_storeu_pd(all + 8, all1);
      _mm512_storeu_pd(kept, kept0);
      _mm512_storeu_pd(kept + 8, kept1);
    }
  };
};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const ElementwiseTable* elementwise_avx512() { return &table_of<simd::Loops<avx512::Vectors>>; }

}  // namespace sten::kernels
