#define STEN_TARGET STEN_AVX2
#include <immintrin.h>

#include "kernels/reference/bf16_few.h"
#include "kernels/simd/bf16_few.h"
#include "kernels/simd/bf16_few_loops.h"
#include "kernels/simd/floats8.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

struct Bf16Few8 : simd::Floats8 {
  using Ints = __m256i;
  static Ints load_ints(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static Ints load_values(const std::uint16_t* p) { return load_ints(p); }
  static Ints one_pair(const std::uint8_t* p) {
    int pair;
    std::memcpy(&pair, p, sizeof pair);
    return _mm256_set1_epi32(pair);
  }
  static Vec even(Ints v) { return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16)); }
  static Vec odd(Ints v) {
    return _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32(-65536)));
  }
  static float sum(Vec v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  static const std::uint8_t* expand(const std::uint8_t* from, std::uint16_t* to) {
    return bf16_few_reference()->expand({from, 1, 1, true}, to, 0);
  }

  // A window is gathered from.
  static constexpr int most_looked_up = 2;
  using Column = float;
  static Column column(std::uint16_t x) { return widen_bf16(x); }
  template <int tokens, bool narrow>
  static void few_lanes(const Bf16Lanes& a, const Column* x, std::int64_t ldx, float* y) {
    Vec sums[2][tokens];
    for (auto& half : sums)
      for (Vec& s : half) s = zero();
    const std::uint8_t* step = a.steps;
    for (std::int64_t s = 0; s < a.count; ++s, step += bf16_step_bytes(narrow)) {
      x += a.advance[s];
      _mm_prefetch(reinterpret_cast<const char*>(step) + simd::bf16_few_ahead, _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(step) + simd::bf16_few_ahead + 64, _MM_HINT_T0);
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        // Both columns of a row, in a byte or in two.
        constexpr int bits = narrow ? 4 : 8;
        const auto* from =
            reinterpret_cast<const __m128i*>(step + bf16_place_bytes(narrow) / 2 * half);
        const Ints at = narrow ? _mm256_cvtepu8_epi32(_mm_loadl_epi64(from))
                               : _mm256_cvtepu16_epi32(_mm_loadu_si128(from));
        const Ints first = _mm256_and_si256(at, _mm256_set1_epi32((1 << bits) - 1)),
                   second = _mm256_srli_epi32(at, bits);
        const Ints value = load_ints(step + bf16_place_bytes(narrow) + 32 * half);
        const Vec v0 = even(value), v1 = odd(value);
        for (int t = 0; t < tokens; ++t) {
          const float* window = x + t * ldx;
          Vec& sum = sums[half][t];
          sum = fma(v0, _mm256_i32gather_ps(window, first, 4), sum);
          sum = fma(v1, _mm256_i32gather_ps(window, second, 4), sum);
        }
      }
    }
    for (int half = 0; half < 2; ++half)
      for (int t = 0; t < tokens; ++t) {
        alignas(32) float of_rows[lanes];
        store(of_rows, sums[half][t]);
        for (int r = 0; r < lanes; ++r) y[(half * lanes + r) * bf16_most_tokens + t] = of_rows[r];
      }
  }
};

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

const Bf16FewTable* bf16_few_avx2() {
  using Loops = simd::Bf16FewLoops<avx2::Bf16Few8>;
  static constexpr Bf16FewTable table{Loops::prepare_tiles, Loops::multiply_tiles,
                                      Loops::prepare_lanes, Loops::multiply_lanes, nullptr};
  return &table;
}

}  // namespace sten::kernels
