// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include "kernels/nm_sample.h"
#include "kernels/simd/floats8.h"
#include "kernels/simd/nm_sample_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

struct NmSampleLanes : simd::Floats8 {
  static constexpr int width(int rows) { return 8 / rows; }
  static Vec pair(Vec a, Vec b) { return _mm256_hadd_ps(a, b); }
  template <bool paired>
  static Vec four_at(const float* v) {
    if constexpr (paired) return pair(load(v), load(v + 8));
    return pair(pair(load(v), load(v + 8)), pair(load(v + 16), load(v + 24)));
  }
  template <bool paired>
  static Vec sums(const float* v) {
    const Vec low = four_at<paired>(v), high = four_at<paired>(v + (paired ? 16 : 32));
    return add(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
  }
};

using NmSample = simd::NmSampleLoops<NmSampleLanes>;
constexpr NmSampleTable nm_sample_table{NmSample::sample};

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

const NmSampleTable* nm_sample_avx2() { return &avx2::nm_sample_table; }

}  // namespace sten::kernels
