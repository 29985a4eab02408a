// AVX-512 BF16: one instruction rounds two vectors.
#define STEN_TARGET STEN_AVX512_BF16
#include "kernels/interleaved_panels.h"
#include "kernels/simd/interleaved_panels_loops.h"
#include "kernels/simd/interleaved_vectors_bf16.h"

namespace sten::kernels::avx512_bf16 {
namespace {

struct InterleavedLanes : simd::InterleavedVectorsBf16 {};

}  // namespace
}  // namespace sten::kernels::avx512_bf16

namespace sten::kernels {

const InterleavedPanelsTable* interleaved_panels_avx512_bf16(std::int64_t lanes) {
  static constexpr InterleavedPanelsTable
      wide = simd::InterleavedPanels<avx512_bf16::InterleavedLanes, panel_width>::table(),
      narrow = simd::InterleavedPanels<avx512_bf16::InterleavedLanes, narrow_panel_width>::table();
  return lanes == narrow_panel_width ? &narrow : &wide;
}

}  // namespace sten::kernels
