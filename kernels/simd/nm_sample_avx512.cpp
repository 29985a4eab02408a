// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/nm_sample.h"
#include "kernels/simd/floats16.h"
#include "kernels/simd/nm_sample_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

struct NmSampleLanes : simd::Floats16 {
  static constexpr int width(int) { return 8; }
  static Vec pair(Vec a, Vec b) { return add(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)); }
  // Sums of two pair() vectors, in every four lanes.
  static Vec four(Vec a, Vec b) {
    return add(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
  }
  static Vec halves(Vec a, Vec b) {
    return add(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  }
  template <bool paired>
  static Vec four_at(const float* v) {
    if constexpr (paired) return four(load(v), load(v + 16));
    return four(pair(load(v), load(v + 16)), pair(load(v + 32), load(v + 48)));
  }
  template <bool paired>
  static Vec sums(const float* v) {
    constexpr int size = paired ? 32 : 64;
    const Vec low = halves(four_at<paired>(v), four_at<paired>(v + size)),
              high = halves(four_at<paired>(v + 2 * size), four_at<paired>(v + 3 * size));
    return add(_mm512_shuffle_f32x4(low, high, 0x88), _mm512_shuffle_f32x4(low, high, 0xdd));
  }
};

using NmSample = simd::NmSampleLoops<NmSampleLanes>;
constexpr NmSampleTable nm_sample_table{NmSample::sample};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const NmSampleTable* nm_sample_avx512() { return &avx512::nm_sample_table; }

}  // namespace sten::kernels
