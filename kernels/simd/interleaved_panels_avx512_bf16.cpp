// SPDX-License-Identifier: Apache-2.0
// AVX-512 BF16: one instruction rounds two vectors.
#define STEN_TARGET STEN_AVX512_BF16
#include "kernels/interleaved_panels.h"
#include "kernels/simd/interleaved_panels_loops.h"
#include "kernels/simd/interleaved_vectors_bf16.h"

namespace sten::kernels {

const InterleavedPanelsTable* interleaved_panels_avx512_bf16(std::int64_t lanes) {
  static constexpr InterleavedPanelsTable
      wide = simd::InterleavedPanels<simd::InterleavedVectorsBf16, panel_width>::table(),
      narrow = simd::InterleavedPanels<simd::InterleavedVectorsBf16, narrow_panel_width>::table();
  return lanes == narrow_panel_width ? &narrow : &wide;
}

}  // namespace sten::kernels
