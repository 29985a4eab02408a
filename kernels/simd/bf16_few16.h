// 16 floats, as kernels/simd/bf16_few_loops.h wants them, all but expand().
#pragma once
#include <immintrin.h>

#include <cstring>

#include "kernels/reference/bf16_few.h"
#include "kernels/simd/bf16_pairs8.h"
#include "kernels/simd/floats16.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {  // each file has its own, of its own instructions

struct Bf16Pairs16 : simd::Floats16 {
  using Ints = __m512i;
  static Ints load_ints(const void* p) { return _mm512_loadu_si512(p); }
  static Ints one_pair(const std::uint8_t* p) {
    int pair;
    std::memcpy(&pair, p, sizeof pair);
    return _mm512_set1_epi32(pair);
  }
  static Ints both(Ints a, Ints b) { return _mm512_and_si512(a, b); }
  static Vec even(Ints v) { return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16)); }
  static Vec odd(Ints v) {
    return _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32(-65536)));
  }
};

struct Bf16Few16 : Bf16Pairs16 {
  using Eight = simd::Bf16Pairs8;
  static constexpr int most_sums = 16;
  static float sum(Vec v) { return _mm512_reduce_add_ps(v); }

  // A window is two registers of the token's features, in which columns are looked up.
  static constexpr int most_looked_up = 4;
  static constexpr bool gathers = false;
  using Column = std::uint16_t;
  static Column column(std::uint16_t x) { return x; }
  // The columns of a step's values, each value's in a word.
  template <bool narrow>
  static Ints places(const std::uint8_t* step) {
    if constexpr (!narrow)
      return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(step)));
    const Ints both = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(step)));
    return _mm512_and_si512(_mm512_or_si512(both, _mm512_slli_epi32(both, 12)),
                            _mm512_set1_epi32(0xf000f));
  }
  template <bool narrow>
  static Ints look_up(const std::uint16_t* window, Ints at) {
    const Ints low = _mm512_loadu_si512(window);
    if constexpr (narrow) return _mm512_permutexvar_epi16(at, low);
    return _mm512_permutex2var_epi16(low, at, _mm512_loadu_si512(window + 32));
  }
  // Of even values and of odd ones.
  template <int tokens>
  struct FewSums {
    Vec of[2][tokens];

    void write(float* y) const {
      for (int t = 0; t < tokens; ++t) {
        alignas(64) float sums[lanes];
        store(sums, add(of[0][t], of[1][t]));
        for (int r = 0; r < lanes; ++r) y[r * bf16_most_tokens + t] = sums[r];
      }
    }
  };
  template <bool narrow, int tokens>
  static void few_step(const std::uint8_t* step, const Column* x, std::int64_t ldx,
                       FewSums<tokens>& sums) {
    const Ints at = places<narrow>(step);
    const Ints value = load_ints(step + bf16_place_bytes(narrow));
    const Vec even_value = even(value), odd_value = odd(value);
    for (int t = 0; t < tokens; ++t) {
      const Ints found = look_up<narrow>(x + t * ldx, at);
      sums.of[0][t] = fma(even_value, even(found), sums.of[0][t]);
      sums.of[1][t] = fma(odd_value, odd(found), sums.of[1][t]);
    }
  }
};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END
