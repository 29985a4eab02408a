#define STEN_TARGET STEN_AVX2
#include "kernels/functions.h"
#include "kernels/simd/floats8.h"
#include "kernels/simd/functions_loops.h"

namespace sten::kernels::avx2 {
namespace {

struct Lanes : simd::Floats8 {};

}  // namespace
}  // namespace sten::kernels::avx2

namespace sten::kernels {

const FunctionsTable* functions_avx2() {
  static constexpr FunctionsTable table = simd::Functions<avx2::Lanes>::table();
  return &table;
}

}  // namespace sten::kernels
