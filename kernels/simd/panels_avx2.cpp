// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include "kernels/panels.h"
#include "kernels/simd/floats8.h"
#include "kernels/simd/panels_loops.h"

namespace sten::kernels::avx2 {
namespace {

struct Lanes : simd::Floats8 {
  static constexpr int part = 2, most_rows = 6, value_rows = 4;
};

}  // namespace
}  // namespace sten::kernels::avx2

namespace sten::kernels {

const PanelsTable* panels_avx2(std::int64_t lanes) {
  static constexpr PanelsTable wide = simd::Panels<avx2::Lanes, panel_width>::table(),
                               narrow = simd::Panels<avx2::Lanes, narrow_panel_width>::table();
  return lanes == narrow_panel_width ? &narrow : &wide;
}

}  // namespace sten::kernels
