// 16 floats, as kernels/simd/bf16_few_loops.h wants them, all but expand().
#pragma once
#include <immintrin.h>

#include <cstring>

#include "kernels/reference/bf16_few.h"
#include "kernels/simd/floats16.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {  // each file has its own, of its own instructions

struct Bf16Few16 : simd::Floats16 {
  using Ints = __m512i;
  static Ints load_values(const std::uint16_t* p) { return _mm512_loadu_si512(p); }
  static Ints one_pair(const std::uint8_t* p) {
    int pair;
    std::memcpy(&pair, p, sizeof pair);
    return _mm512_set1_epi32(pair);
  }
  static Vec even(Ints v) { return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16)); }
  static Vec odd(Ints v) {
    return _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32(-65536)));
  }
  static float sum(Vec v) { return _mm512_reduce_add_ps(v); }

  // A window is two registers of the token's features, in which columns are looked up.
  using Column = std::uint16_t;
  static Column column(std::uint16_t x) { return x; }
  template <int tokens>
  static void few_lanes(const Bf16Lanes& a, const Column* x, std::int64_t ldx, float* y) {
    constexpr std::int64_t ahead = 3072;
    Vec evens[tokens], odds[tokens];
    for (int t = 0; t < tokens; ++t) evens[t] = odds[t] = zero();
    const std::uint8_t* step = a.steps;
    for (std::int64_t s = 0; s < a.count; ++s, step += bf16_step_bytes) {
      x += a.advance[s];
      _mm_prefetch(reinterpret_cast<const char*>(step) + ahead, _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(step) + ahead + 64, _MM_HINT_T0);
      const Ints at =
          _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(step)));
      const Ints value = _mm512_loadu_si512(step + bf16_step_values);
      const Vec even_value = even(value), odd_value = odd(value);
      for (int t = 0; t < tokens; ++t) {
        const std::uint16_t* window = x + t * ldx;
        const Ints found = _mm512_permutex2var_epi16(_mm512_loadu_si512(window), at,
                                                     _mm512_loadu_si512(window + 32));
        evens[t] = fma(even_value, even(found), evens[t]);
        odds[t] = fma(odd_value, odd(found), odds[t]);
      }
    }
    for (int t = 0; t < tokens; ++t) {
      alignas(64) float sums[lanes];
      store(sums, add(evens[t], odds[t]));
      for (int r = 0; r < lanes; ++r) y[r * bf16_most_tokens + t] = sums[r];
    }
  }
};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END
