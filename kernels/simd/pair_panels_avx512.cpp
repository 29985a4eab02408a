#define STEN_TARGET STEN_AVX512
#include "kernels/simd/pair_panels.h"
#include "kernels/simd/pair_panels_loops.h"
#include "kernels/simd/pair_vectors16.h"

namespace sten::kernels::avx512 {
namespace {

struct PairLanes : simd::PairVectors16 {};

}  // namespace
}  // namespace sten::kernels::avx512

namespace sten::kernels {

const PairPanelsTable* pair_panels_avx512(std::int64_t lanes) {
  static constexpr PairPanelsTable wide = simd::PairPanels<avx512::PairLanes, panel_width>::table(),
                                   few = simd::PairPanels<avx512::PairLanes, few_width>::table();
  return lanes == few_width ? &few : &wide;
}

}  // namespace sten::kernels
