#define STEN_TARGET STEN_AVX512
#include "kernels/rows.h"
#include "kernels/simd/floats16.h"
#include "kernels/simd/rows_loops.h"

namespace sten::kernels::avx512 {
namespace {

struct Lanes : simd::Floats16 {};

}  // namespace
}  // namespace sten::kernels::avx512

namespace sten::kernels {

const RowsTable* rows_avx512() {
  static constexpr RowsTable table = simd::Rows<avx512::Lanes>::table();
  return &table;
}

}  // namespace sten::kernels
