#define STEN_TARGET STEN_AVX2
#include "kernels/simd/pair_panels.h"
#include "kernels/simd/pair_panels_loops.h"
#include "kernels/simd/pair_vectors8.h"

namespace sten::kernels::avx2 {
namespace {

struct PairLanes : simd::PairVectors8 {};

}  // namespace
}  // namespace sten::kernels::avx2

namespace sten::kernels {

const PairPanelsTable* pair_panels_avx2(std::int64_t lanes) {
  static constexpr PairPanelsTable wide = simd::PairPanels<avx2::PairLanes, panel_width>::table(),
                                   few = simd::PairPanels<avx2::PairLanes, few_width>::table();
  return lanes == few_width ? &few : &wide;
}

}  // namespace sten::kernels
