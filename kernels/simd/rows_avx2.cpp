#define STEN_TARGET STEN_AVX2
#include "kernels/rows.h"
#include "kernels/simd/floats8.h"
#include "kernels/simd/rows_loops.h"

namespace sten::kernels::avx2 {
namespace {

struct Lanes : simd::Floats8 {};

}  // namespace
}  // namespace sten::kernels::avx2

namespace sten::kernels {

const RowsTable* rows_avx2() {
  static constexpr RowsTable table = simd::Rows<avx2::Lanes>::table();
  return &table;
}

}  // namespace sten::kernels
