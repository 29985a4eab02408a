// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include <immintrin.h>

#include "kernels/csr.h"
#include "kernels/simd/csr_loops.h"
#include "kernels/simd/csr_row_pairs_loops.h"
#include "kernels/simd/csr_unpacked_loops.h"
#include "kernels/simd/floats8.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

struct Lanes : simd::Floats8 {
  static constexpr int row_pair_sets = 1;
  static constexpr int width(int height) { return height <= 2 ? 4 : 2; }
  static void add_sums(float* p, const Vec* v) {
    const Vec fours = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    const __m128 sums = _mm_add_ps(_mm256_castps256_ps128(fours), _mm256_extractf128_ps(fours, 1));
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
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

const CsrTable* csr_gemm_avx2() { return &avx2::table; }

}  // namespace sten::kernels
