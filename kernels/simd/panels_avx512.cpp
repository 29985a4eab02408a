// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/panels.h"
#include "kernels/simd/floats16.h"
#include "kernels/simd/panels_loops.h"

namespace sten::kernels::avx512 {
namespace {

struct Lanes : simd::Floats16 {
  static constexpr int part = 4, most_rows = 6, value_rows = 4;
};

}  // namespace
}  // namespace sten::kernels::avx512

namespace sten::kernels {

const PanelsTable* panels_avx512(std::int64_t lanes) {
  static constexpr PanelsTable wide = simd::Panels<avx512::Lanes, panel_width>::table(),
                               narrow = simd::Panels<avx512::Lanes, narrow_panel_width>::table();
  return lanes == narrow_panel_width ? &narrow : &wide;
}

}  // namespace sten::kernels
