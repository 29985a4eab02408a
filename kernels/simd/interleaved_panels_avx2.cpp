// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include "kernels/interleaved_panels.h"
#include "kernels/simd/interleaved_panels_loops.h"
#include "kernels/simd/interleaved_vectors8.h"

namespace sten::kernels {

const InterleavedPanelsTable* interleaved_panels_avx2(std::int64_t lanes) {
  static constexpr InterleavedPanelsTable
      wide = simd::InterleavedPanels<simd::InterleavedVectors8, panel_width>::table(),
      narrow = simd::InterleavedPanels<simd::InterleavedVectors8, narrow_panel_width>::table();
  return lanes == narrow_panel_width ? &narrow : &wide;
}

}  // namespace sten::kernels
