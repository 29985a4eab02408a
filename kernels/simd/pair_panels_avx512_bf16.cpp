// AVX-512 BF16: two vectors are rounded at once.
#define STEN_TARGET STEN_AVX512_BF16
#include "kernels/simd/pair_panels.h"
#include "kernels/simd/pair_panels_loops.h"
#include "kernels/simd/pair_vectors_bf16.h"

namespace sten::kernels::avx512_bf16 {
namespace {

struct PairLanes : simd::PairVectorsBf16 {};

}  // namespace
}  // namespace sten::kernels::avx512_bf16

namespace sten::kernels {

const PairPanelsTable* pair_panels_avx512_bf16(std::int64_t lanes) {
  static constexpr PairPanelsTable
      wide = simd::PairPanels<avx512_bf16::PairLanes, panel_width>::table(),
      few = simd::PairPanels<avx512_bf16::PairLanes, few_width>::table();
  return lanes == few_width ? &few : &wide;
}

}  // namespace sten::kernels
