#define STEN_TARGET STEN_AVX512
#include "kernels/functions.h"
#include "kernels/simd/floats16.h"
#include "kernels/simd/functions_loops.h"

namespace sten::kernels::avx512 {
namespace {

struct Lanes : simd::Floats16 {};

}  // namespace
}  // namespace sten::kernels::avx512

namespace sten::kernels {

const FunctionsTable* functions_avx512() {
  static constexpr FunctionsTable table = simd::Functions<avx512::Lanes>::table();
  return &table;
}

}  // namespace sten::kernels
