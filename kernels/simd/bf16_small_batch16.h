// SPDX-License-Identifier: Apache-2.0
// 16 lanes for kernels/simd/bf16_small_batch_loops.h.
#pragma once
#include <immintrin.h>

#include <type_traits>

#include "kernels/bf16_small_batch.h"
#include "kernels/interleaved.h"
#include "kernels/simd/bf16_interleaved16.h"
#include "kernels/simd/bf16_interleaved8.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {  // a copy per file, for its own target

struct Bf16SmallBatch16 : simd::Bf16Interleaved16 {
  using Eight = simd::Bf16Interleaved8;
  static constexpr int most_sums = 16;
  static constexpr bool has_dot = false;
  static void store_offsets(std::uint16_t* p, Words v) {
    _mm512_storeu_si512(p, _mm512_slli_epi16(v, 8));
    _mm512_storeu_si512(p + 32, _mm512_andnot_si512(_mm512_set1_epi16(0xff), v));
  }
  static float sum(Vec v) { return _mm512_reduce_add_ps(v); }

  // A window is looked up in two registers of a token's features, a narrow window in one register
  // of floats.
  static constexpr int most_looked_up(bool narrow) { return narrow ? 8 : 4; }
  static constexpr bool gathers = false;
  template <bool narrow>
  using Column = std::conditional_t<narrow, float, std::uint16_t>;
  template <bool narrow>
  static Column<narrow> column(std::uint16_t x) {
    if constexpr (narrow)
      return widen_bf16(x);
    else
      return x;
  }
  // Sums of even and of odd values.
  template <int tokens>
  struct SmallBatchSums {
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
  static void small_batch_step(const std::uint8_t* step, const Column<narrow>* x, std::int64_t ldx,
                               SmallBatchSums<tokens>& sums) {
    const Words value = load_words(step + bf16_column_bytes(narrow));
    const Vec even_value = even(value), odd_value = odd(value);
    const auto add_up = [&](int t, Vec even_x, Vec odd_x) {
      sums.of[0][t] = fma(even_value, even_x, sums.of[0][t]);
      sums.of[1][t] = fma(odd_value, odd_x, sums.of[1][t]);
    };
    if constexpr (narrow) {
      // The lookup uses only the lower 4 bits of a column's word.
      const Words first =
          _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(step)));
      const Words second = _mm512_srli_epi32(first, 4);
      for (int t = 0; t < tokens; ++t) {
        const Vec window = load(x + t * ldx);
        add_up(t, _mm512_permutexvar_ps(first, window), _mm512_permutexvar_ps(second, window));
      }
    } else {
      const Words at =
          _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(step)));
      for (int t = 0; t < tokens; ++t) {
        const std::uint16_t* window = x + t * ldx;
        const Words found =
            _mm512_permutex2var_epi16(load_words(window), at, load_words(window + 32));
        add_up(t, even(found), odd(found));
      }
    }
  }
};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END
