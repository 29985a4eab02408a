// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/simd/tiles_loops.h"
#include "kernels/tiles.h"
#include "kernels/tiles_each.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

struct TileFloats {
  using Sum = __m512;
  static constexpr int lanes = 16;
  static Sum zero() { return _mm512_setzero_ps(); }
  static Sum load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Sum v) { _mm512_storeu_ps(p, v); }
  static Sum one(const float* p) { return _mm512_set1_ps(*p); }
  static Sum fma(Sum a, Sum b, Sum c) { return _mm512_fmadd_ps(a, b, c); }
  static __m512i feature_pairs(const std::uint16_t* p) { return _mm512_loadu_si512(p); }
  static Sum even(__m512i v) { return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16)); }
  static Sum odd(__m512i v) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(v, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const TilesTable* tiles_avx512() {
  using avx512::TileFloats;
  using Narrow = simd::TilesLoops<TileFloats, 16, 1>;
  using Wide = simd::TilesLoops<TileFloats, 8, 2>;
  static constexpr TilesTable table =
      tiles_table<Narrow::run<narrow_panel_width>, Wide::run<panel_width>>();
  return &table;
}

}  // namespace sten::kernels
