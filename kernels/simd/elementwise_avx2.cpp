// SPDX-License-Identifier: Apache-2.0
// AVX2: masks are vectors. The bits of a block are the sign bits, and are spread again by comparing
// with powers of two. Compress and expand look up permutations by 8 bits of the mask.
#define STEN_TARGET STEN_AVX2
#include <immintrin.h>

#include <array>

#include "kernels/elementwise.h"
#include "kernels/simd/elementwise_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

using simd::Word;

__m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
void store(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
__m128i load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
void store128(void* p, __m128i v) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }

// Operations by width. Keys are compared as signed integers, because they are not negative. bits()
// takes vectors whose lanes are all ones or zeros; spread() returns them.
template <class U>
struct Lanes;

template <>
struct Lanes<std::uint8_t> {
  static __m256i all(std::uint8_t v) { return _mm256_set1_epi8(static_cast<char>(v)); }
  static __m256i above(__m256i a, __m256i b) { return _mm256_cmpgt_epi8(a, b); }
  static __m256i equal(__m256i a, __m256i b) { return _mm256_cmpeq_epi8(a, b); }
  static std::uint32_t bits(__m256i m) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(m));
  }
  static __m256i spread(Word m) {
    const __m256i byte_of =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i power = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201));
    const __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(m)), byte_of);
    return _mm256_cmpeq_epi8(_mm256_and_si256(v, power), power);
  }
};

template <>
struct Lanes<std::uint16_t> {
  static __m256i all(std::uint16_t v) { return _mm256_set1_epi16(static_cast<short>(v)); }
  static __m256i above(__m256i a, __m256i b) { return _mm256_cmpgt_epi16(a, b); }
  static __m256i equal(__m256i a, __m256i b) { return _mm256_cmpeq_epi16(a, b); }
  static std::uint32_t bits(__m256i m) {
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
  }
  static __m256i spread(Word m) {
    const __m256i power = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                                            8192, 16384, static_cast<short>(0x8000));
    const __m256i v = _mm256_set1_epi16(static_cast<short>(m));
    return _mm256_cmpeq_epi16(_mm256_and_si256(v, power), power);
  }
};

template <>
struct Lanes<std::uint32_t> {
  static __m256i all(std::uint32_t v) { return _mm256_set1_epi32(static_cast<int>(v)); }
  static __m256i above(__m256i a, __m256i b) { return _mm256_cmpgt_epi32(a, b); }
  static __m256i equal(__m256i a, __m256i b) { return _mm256_cmpeq_epi32(a, b); }
  static std::uint32_t bits(__m256i m) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(m)));
  }
  static __m256i spread(Word m) {
    const __m256i power = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i v = _mm256_set1_epi32(static_cast<int>(m));
    return _mm256_cmpeq_epi32(_mm256_and_si256(v, power), power);
  }
};

template <>
struct Lanes<std::uint64_t> {
  static __m256i all(std::uint64_t v) { return _mm256_set1_epi64x(static_cast<long long>(v)); }
  static __m256i above(__m256i a, __m256i b) { return _mm256_cmpgt_epi64(a, b); }
  static __m256i equal(__m256i a, __m256i b) { return _mm256_cmpeq_epi64(a, b); }
  static std::uint32_t bits(__m256i m) {
    return static_cast<std::uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(m)));
  }
  static __m256i spread(Word m) {
    const __m256i power = _mm256_setr_epi64x(1, 2, 4, 8);
    const __m256i v = _mm256_set1_epi64x(static_cast<long long>(m));
    return _mm256_cmpeq_epi64(_mm256_and_si256(v, power), power);
  }
};

// Per byte m: the source of output byte j for compress (packs the positions set in m) and for
// expand (spreads packed elements to them); 0x80: no source.
struct Permutations {
  std::array<std::uint64_t, 256> compress{}, expand{};

  consteval Permutations() {
    for (unsigned m = 0; m < 256; ++m) {
      unsigned count = 0;
      for (unsigned j = 0; j < 8; ++j) {
        const bool set = m >> j & 1;
        expand[m] |= Word{set ? count : 0x80u} << 8 * j;
        if (set) compress[m] |= Word{j} << 8 * count++;
      }
      for (; count < 8; ++count) compress[m] |= Word{0x80} << 8 * count;
    }
  }
};
constexpr Permutations permutations;

// Each of 4 bits twice, because 64-bit elements are permuted as pairs of 32-bit elements.
constexpr std::uint8_t doubled[16] = {0x00, 0x03, 0x0c, 0x0f, 0x30, 0x33, 0x3c, 0x3f,
                                      0xc0, 0xc3, 0xcc, 0xcf, 0xf0, 0xf3, 0xfc, 0xff};

// out = x permuted by 8 bytes of a table: 8 elements, or 4 of 64 bits.
void permute(const std::uint8_t* x, Word order, std::uint8_t* out) {
  _mm_storeu_si64(
      out, _mm_shuffle_epi8(_mm_loadu_si64(x), _mm_cvtsi64_si128(static_cast<long long>(order))));
}
void permute(const std::uint16_t* x, Word order, std::uint16_t* out) {
  // Element j becomes the bytes 2j and 2j + 1; 0x80 saturates and stays.
  __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(order));
  bytes = _mm_unpacklo_epi8(bytes, bytes);
  bytes = _mm_adds_epu8(_mm_adds_epu8(bytes, bytes), _mm_set1_epi16(0x0100));
  store128(out, _mm_shuffle_epi8(load128(x), bytes));
}
void permute(const void* x, Word order, void* out) {
  const __m256i from = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(static_cast<long long>(order)));
  const __m256i nowhere = _mm256_srai_epi32(from, 31);
  store(out, _mm256_andnot_si256(nowhere, _mm256_permutevar8x32_epi32(load(x), from)));
}

// Loads 4 elements of 2 or 1 bytes as 16-bit integers.
__m128i load4(const std::uint16_t* x) { return _mm_loadu_si64(x); }
__m128i load4(const std::uint8_t* x) { return _mm_cvtepu8_epi16(_mm_loadu_si32(x)); }

// 4 elements as floats, up to their signs. The conversions are exact; the AVX-512 table has them
// for 8 elements.
template <FloatKind type, class U>
__m128 floats(const U* x) {
  if constexpr (type == FloatKind::f32) return _mm_loadu_ps(reinterpret_cast<const float*>(x));
  if constexpr (type == FloatKind::f16) return _mm_cvtph_ps(load4(x));
  if constexpr (type == FloatKind::bf16)
    return _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(load4(x)), 16));
  if constexpr (type == FloatKind::f8_e5m2) return _mm_cvtph_ps(_mm_slli_epi16(load4(x), 8));
}
template <>
__m128 floats<FloatKind::f8_e4m3>(const std::uint8_t* x) {
  // Converts by way of binary16, whose bias is 8 greater.
  const __m128i keys = _mm_set1_epi16(0x7f), key = _mm_and_si128(load4(x), keys);
  const __m128i half = _mm_or_si128(_mm_slli_epi16(key, 7), _mm_cmpeq_epi16(key, keys));
  return _mm_mul_ps(_mm_cvtph_ps(half), _mm_set1_ps(256));
}
template <FloatKind type, class U>
__m256d magnitudes(const U* x) {
  const __m256d keys = _mm256_castsi256_pd(_mm256_set1_epi64x(greatest_key<std::uint64_t>));
  if constexpr (type == FloatKind::f64)
    return _mm256_and_pd(_mm256_loadu_pd(reinterpret_cast<const double*>(x)), keys);
  else
    return _mm256_and_pd(_mm256_cvtps_pd(floats<type>(x)), keys);
}

struct Vectors {
  template <class U>
  static constexpr int lanes = 32 / sizeof(U);
  template <class U>
  static constexpr bool packs = true;

  // The bits of f(32 bytes of the block), concatenated.
  template <class U, class F>
  static Word word_of(const U* x, F&& f) {
    Word word = 0;
    for (int i = 0; i < 64; i += lanes<U>) word |= Word{Lanes<U>::bits(f(load(x + i)))} << i;
    return word;
  }

  template <class U>
  static Word above(const U* x, U boundary) {
    const __m256i keys = Lanes<U>::all(greatest_key<U>), b = Lanes<U>::all(boundary);
    return word_of(x, [&](__m256i v) { return Lanes<U>::above(_mm256_and_si256(v, keys), b); });
  }

  template <class U>
  static Word equal(const U* x, U key) {
    const __m256i keys = Lanes<U>::all(greatest_key<U>), k = Lanes<U>::all(key);
    return word_of(x, [&](__m256i v) { return Lanes<U>::equal(_mm256_and_si256(v, keys), k); });
  }

  template <class U>
  static Word nonzero(const U* x) {
    const __m256i zero = _mm256_setzero_si256();
    return ~word_of(x, [&](__m256i v) { return Lanes<U>::equal(v, zero); });
  }

  template <class U>
  static void mask(const U* x, Word word, U* out) {
    for (int i = 0; i < 64; i += lanes<U>)
      store(out + i, _mm256_and_si256(Lanes<U>::spread(word >> i), load(x + i)));
  }

  template <class U>
  static void compress(const U* x, Word word, U* out) {
    constexpr int step = sizeof(U) == 8 ? 4 : 8;
    for (int i = 0; i < 64; i += step) {
      const std::uint8_t m = next<step>(word >> i);
      permute(x + i, permutations.compress[m], out);
      out += std::popcount(m) / (8 / step);
    }
  }

  template <class U>
  static void expand(const U* x, Word word, U* out) {
    constexpr int step = sizeof(U) == 8 ? 4 : 8;
    for (int i = 0; i < 64; i += step) {
      const std::uint8_t m = next<step>(word >> i);
      permute(x, permutations.expand[m], out + i);
      x += std::popcount(m) / (8 / step);
    }
  }

  template <int step>
  static std::uint8_t next(Word word) {
    return step == 8 ? static_cast<std::uint8_t>(word) : doubled[word & 15];
  }

  struct Sums {
    __m256d all0, all1, all2, all3, kept0, kept1, kept2, kept3;

    template <FloatKind type, class U>
    void add(const U* x, std::uint16_t bits) {
      const __m256i keep = _mm256_set1_epi64x(bits);
      add(magnitudes<type>(x), keep, 1 << 0, all0, kept0);
      add(magnitudes<type>(x + 4), keep, 1 << 4, all1, kept1);
      add(magnitudes<type>(x + 8), keep, 1 << 8, all2, kept2);
      add(magnitudes<type>(x + 12), keep, 1 << 12, all3, kept3);
    }
    static void add(__m256d v, __m256i keep, int bit, __m256d& all, __m256d& kept) {
      const __m256i power = _mm256_setr_epi64x(bit, 2 * bit, 4 * bit, 8 * bit);
      const __m256i m = _mm256_cmpeq_epi64(_mm256_and_si256(keep, power), power);
      all = _mm256_add_pd(all, v);
      kept = _mm256_add_pd(kept, _mm256_and_pd(v, _mm256_castsi256_pd(m)));
    }
    void store(double (&all)[16], double (&kept)[16]) const {
      _mm256_storeu_pd(all, all0);
      _mm256_storeu_pd(all + 4, all1);
      _mm256_storeu_pd(all + 8, all2);
      _mm256_storeu_pd(all + 12, all3);
      _mm256_storeu_pd(kept, kept0);
      _mm256_storeu_pd(kept + 4, kept1);
      _mm256_storeu_pd(kept + 8, kept2);
      _mm256_storeu_pd(kept + 12, kept3);
    }
  };
};

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

const ElementwiseTable* elementwise_avx2() { return &table_of<simd::Loops<avx2::Vectors>>; }

}  // namespace sten::kernels
