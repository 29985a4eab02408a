// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include "kernels/simd/tiles_loops.h"
#include "kernels/tiles.h"
#include "kernels/tiles_each.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

struct TileFloats {
  using Sum = __m256;
  static constexpr int lanes = 8;
  static Sum zero() { return _mm256_setzero_ps(); }
  static Sum load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Sum v) { _mm256_storeu_ps(p, v); }
  static Sum one(const float* p) { return _mm256_broadcast_ss(p); }
  static Sum fma(Sum a, Sum b, Sum c) { return _mm256_fmadd_ps(a, b, c); }
  static __m256i feature_pairs(const std::uint16_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Sum even(__m256i v) { return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16)); }
  static Sum odd(__m256i v) {
    return _mm256_castsi256_ps(
        _mm256_and_si256(v, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }
};

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

const TilesTable* tiles_avx2() {
  using Loops = simd::TilesLoops<avx2::TileFloats, 4, 2>;
  static constexpr TilesTable table =
      tiles_table<Loops::run<narrow_panel_width>, Loops::run<panel_width>>();
  return &table;
}

}  // namespace sten::kernels
