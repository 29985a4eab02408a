#define STEN_TARGET STEN_AVX512
#include "kernels/simd/floats16.h"
#include "kernels/simd/winograd_loops.h"
#include "kernels/winograd.h"

namespace sten::kernels::avx512 {
namespace {

struct Lanes : simd::Floats16 {};

}  // namespace
}  // namespace sten::kernels::avx512

namespace sten::kernels {

const WinogradTable* winograd_avx512() {
  static constexpr WinogradTable table = simd::Winograd<avx512::Lanes>::table();
  return &table;
}

}  // namespace sten::kernels
