// AVX-512: masks are registers, so a block's bits are its comparisons' results side by side.
#define STEN_TARGET "avx2,fma,bmi,bmi2,f16c,popcnt,avx512f,avx512cd,avx512bw,avx512dq,avx512vl"
#include <immintrin.h>

#include "kernels/simd/elementwise.h"
#include "kernels/simd/elementwise_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

using simd::FloatType;
using simd::Word;

// The instructions by width; keys are compared as signed numbers, which they are not below 0.
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

// |x| of 16 elements in float; the conversions are exact.
__m512 magnitudes_f16(__m256i bits) {
  return _mm512_cvtph_ps(_mm256_and_si256(bits, _mm256_set1_epi16(0x7fff)));
}
template <FloatType type>
__m512 magnitudes(const std::uint8_t* x) {
  const __m256i b = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  if constexpr (type == FloatType::f8_e5m2) return magnitudes_f16(_mm256_slli_epi16(b, 8));
  // As binary16, whose bias is greater by 8.
  const __m256i key = _mm256_and_si256(b, _mm256_set1_epi16(0x7f));
  const __m256i nan = _mm256_cmpeq_epi16(key, _mm256_set1_epi16(0x7f));
  const __m256i half = _mm256_or_si256(_mm256_slli_epi16(key, 7), nan);
  return _mm512_mul_ps(magnitudes_f16(half), _mm512_set1_ps(256));
}
template <FloatType type>
__m512 magnitudes(const std::uint16_t* x) {
  if constexpr (type == FloatType::bf16)
XX
}
template <FloatType>
__m512 magnitudes(const std::uint32_t* x) {
  return _mm512_castsi512_ps(_mm512_and_si512(widen(x), _mm512_set1_epi32(0x7fffffff)));
}

struct Vectors {
  template <class U>
  static constexpr int lanes = 64 / sizeof(U);

  // f(64 bytes of the block) side by side.
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
    __m512d all[2], kept[2];

    void add(int half, __m512d v, std::uint16_t keep) {
      const auto m = static_cast<__mmask8>(keep >> 8 * half);
      all[half] = _mm512_add_pd(all[half], v);
      kept[half] = _mm512_mask_add_pd(kept[half], m, kept[half], v);
    }
    template <FloatType type, class U>
    void add(const U* x, std::uint16_t keep) {
      const __m512 v = magnitudes<type>(x);
      add(0, _mm512_cvtps_pd(_mm512_castps512_ps256(v)), keep);
      add(1, _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)), keep);
    }
    template <FloatType>
    void add(const std::uint64_t* x, std::uint16_t keep) {
      for (int half = 0; half < 2; ++half)
        add(half, _mm512_abs_pd(_mm512_loadu_pd(x + 8 * half)), keep);
    }
    void store(double (&a)[16], double (&k)[16]) const {
      for (int half = 0; half < 2; ++half) {
        _mm512_storeu_pd(a + 8 * half, all[half]);
        _mm512_storeu_pd(k + 8 * half, kept[half]);
      }
    }
  };
};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const ElementwiseTable* elementwise_avx512() {
  static constexpr ElementwiseTable table = simd::Loops<avx512::Vectors>::table();
  return &table;
}

}  // namespace sten::kernels
