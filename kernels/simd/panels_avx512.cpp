#define STEN_TARGET STEN_AVX512
#include "kernels/simd/floats16.h"
#include "kernels/simd/panels.h"
#include "kernels/simd/panels_loops.h"

namespace sten::kernels::avx512 {
namespace {

struct Lanes : simd::Floats16 {
  static constexpr int part = 4, most_rows = 6, value_rows = 4;
};

}  // namespace
}  // namespace sten::kernels::avx512

namespace sten::kernels {

const PanelsTable* panels_avx512() {
  static constexpr PanelsTable table = simd::Panels<avx512::Lanes>::table();
  return &table;
}

}  // namespace sten::kernels
