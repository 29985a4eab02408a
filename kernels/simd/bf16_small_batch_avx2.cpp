// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include <immintrin.h>

#include "kernels/bf16_small_batch.h"
#include "kernels/simd/bf16_interleaved8.h"
#include "kernels/simd/bf16_rows_loops.h"
#include "kernels/simd/bf16_small_batch_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

struct Bf16SmallBatch8 : simd::Bf16Interleaved8 {
  using Eight = simd::Bf16Interleaved8;
  static constexpr int most_sums = 12;
  static constexpr bool has_dot = false;
  static void store_offsets(std::uint16_t* p, Words v) {
    auto* to = reinterpret_cast<__m256i*>(p);
    _mm256_storeu_si256(to, _mm256_slli_epi16(v, 8));
    _mm256_storeu_si256(to + 2, _mm256_andnot_si256(_mm256_set1_epi16(0xff), v));
  }
  static float sum(Vec v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }

  // A narrow window is looked up in two registers; other windows are gathered from memory, also far
  // ones.
  static constexpr int most_looked_up(bool narrow) { return narrow ? 4 : 2; }
  static constexpr bool gathers = true;
  template <bool>
  using Column = float;
  template <bool>
  static float column(std::uint16_t x) {
    return widen_bf16(x);
  }
  // Sums of the first 8 rows and of the other 8.
  template <int tokens>
  struct SmallBatchSums {
    Vec of[2][tokens];

    void write(float* y) const {
      for (int half = 0; half < 2; ++half)
        for (int t = 0; t < tokens; ++t) {
          alignas(32) float rows[lanes];
          store(rows, of[half][t]);
          for (int r = 0; r < lanes; ++r) y[(half * lanes + r) * bf16_most_tokens + t] = rows[r];
        }
    }
  };
  template <bool narrow, int tokens>
  static void small_batch_step(const std::uint8_t* step, const float* x, std::int64_t ldx,
                               SmallBatchSums<tokens>& sums) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      // Both columns of a row, in one byte or in two.
      const auto* from =
          reinterpret_cast<const __m128i*>(step + bf16_column_bytes(narrow) / 2 * half);
      const Words value = load_words(step + bf16_column_bytes(narrow) + 32 * half);
      const Vec v0 = even(value), v1 = odd(value);
      const auto add_up = [&](int t, Vec first_x, Vec second_x) {
        Vec& sum = sums.of[half][t];
        sum = fma(v1, second_x, fma(v0, first_x, sum));
      };
      if constexpr (narrow) {
        const Words first = _mm256_cvtepu8_epi32(_mm_loadl_epi64(from)),
                    second = _mm256_srli_epi32(first, 4);
        for (int t = 0; t < tokens; ++t) {
          const float* window = x + t * ldx;
          const Vec low = load(window), high = load(window + 8);
          // The lower 3 bits of a column select the lane, the next bit selects the register.
          const auto look_up = [&](Words at) {
            return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, at),
                                    _mm256_permutevar8x32_ps(high, at),
                                    _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)));
          };
          add_up(t, look_up(first), look_up(second));
        }
      } else {
        const Words at = _mm256_cvtepu16_epi32(_mm_loadu_si128(from));
        const Words first = both(at, _mm256_set1_epi32(255)), second = _mm256_srli_epi32(at, 8);
        for (int t = 0; t < tokens; ++t) {
          const float* window = x + t * ldx;
          add_up(t, _mm256_i32gather_ps(window, first, 4), _mm256_i32gather_ps(window, second, 4));
        }
      }
    }
  }
};

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

const Bf16SmallBatchTable* bf16_small_batch_avx2() {
  using Loops = simd::Bf16SmallBatchLoops<avx2::Bf16SmallBatch8>;
  using Rows = simd::Bf16RowsLoops<avx2::Bf16SmallBatch8>;
  static constexpr Bf16SmallBatchTable table{
      Rows::prepare_rows,   Rows::multiply_rows,   nullptr,         nullptr,
      Loops::prepare_lanes, Loops::multiply_lanes, Loops::looks_up, Loops::widen_tokens,
      Loops::widen_strips};
  return &table;
}

}  // namespace sten::kernels
