#define STEN_TARGET STEN_AVX2
#include "kernels/simd/floats8.h"
#include "kernels/simd/winograd_loops.h"
#include "kernels/winograd.h"

namespace sten::kernels::avx2 {
namespace {

struct Lanes : simd::Floats8 {};

}  // namespace
}  // namespace sten::kernels::avx2

namespace sten::kernels {

const WinogradTable* winograd_avx2() {
  static constexpr WinogradTable table = simd::Winograd<avx2::Lanes>::table();
  return &table;
}

}  // namespace sten::kernels
