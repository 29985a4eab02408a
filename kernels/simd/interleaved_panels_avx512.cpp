#define STEN_TARGET STEN_AVX512
#include "kernels/interleaved_panels.h"
#include "kernels/simd/interleaved_panels_loops.h"
#include "kernels/simd/interleaved_vectors16.h"

namespace sten::kernels::avx512 {
namespace {

struct InterleavedLanes : simd::InterleavedVectors16 {};

}  // namespace
}  // namespace sten::kernels::avx512

namespace sten::kernels {

const InterleavedPanelsTable* interleaved_panels_avx512(std::int64_t lanes) {
  static constexpr InterleavedPanelsTable
      wide = simd::InterleavedPanels<avx512::InterleavedLanes, panel_width>::table(),
      narrow = simd::InterleavedPanels<avx512::InterleavedLanes, narrow_panel_width>::table();
  return lanes == narrow_panel_width ? &narrow : &wide;
}

}  // namespace sten::kernels
