// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include <immintrin.h>

#include "kernels/csr.h"
#include "kernels/simd/csr_loops.h"
#include "kernels/simd/csr_row_pairs_loops.h"
#include "kernels/simd/csr_unpacked_loops.h"
#include "kernels/simd/floats16.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

struct Lanes : simd::Floats16 {
  static constexpr int row_pair_sets = 2;
  static constexpr int width(int) { return 4; }
  // Adds neighbouring lanes of a and b: half as many sums, interleaved in every four lanes.
  static Vec add_pairs(Vec a, Vec b) {
    return _mm512_add_ps(_mm512_mask_blend_ps(0xaaaa, a, b),
                         _mm512_permute_ps(_mm512_mask_blend_ps(0xaaaa, b, a), 0xb1));
  }
  static void add_sums(float* p, const Vec* v) {
    const Vec low = add_pairs(v[0], v[1]), high = add_pairs(v[2], v[3]);
    const Vec fours =
        _mm512_add_ps(_mm512_shuffle_ps(low, high, 0x44), _mm512_shuffle_ps(low, high, 0xee));
    const __m256 halves =
        _mm256_add_ps(_mm512_castps512_ps256(fours), _mm512_extractf32x8_ps(fours, 1));
    const __m128 sums =
        _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
    _mm_storeu_ps(p, _mm_add_ps(_mm_loadu_ps(p), sums));
  }
};

using Narrow = simd::CsrLoops<Lanes, csr_widths[0]>;
using Wide = simd::CsrLoops<Lanes, csr_widths[1]>;
using UnpackedLoops = simd::UnpackedCsrLoops<Lanes, 8>;
constexpr CsrTable table{{Narrow::multiply, Wide::multiply},
                         simd::CsrRowPairsLoops<Lanes>::multiply,
                         Wide::sample,
                         UnpackedLoops::multiply,
                         UnpackedLoops::sample};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const CsrTable* csr_gemm_avx512() { return &avx512::table; }

}  // namespace sten::kernels
