// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/interleaved_panels.h"
#include "kernels/simd/interleaved_panels_loops.h"
#include "kernels/simd/interleaved_vectors16.h"

namespace sten::kernels {

const InterleavedPanelsTable* interleaved_panels_avx512(std::int64_t lanes) {
  static constexpr InterleavedPanelsTable
      wide = simd::InterleavedPanels<simd::InterleavedVectors16, panel_width>::table(),
      narrow = simd::InterleavedPanels<simd::InterleavedVectors16, narrow_panel_width>::table();
  return lanes == narrow_panel_width ? &narrow : &wide;
}

}  // namespace sten::kernels
