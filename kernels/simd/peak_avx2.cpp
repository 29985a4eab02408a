#define STEN_TARGET STEN_AVX2
#include "kernels/peak.h"
#include "kernels/simd/floats8.h"
#include "kernels/simd/peak_loops.h"

namespace sten::kernels::avx2 {
namespace {

struct Lanes : simd::Floats8 {};

}  // namespace
}  // namespace sten::kernels::avx2

namespace sten::kernels {

const PeakTable* peak_avx2() {
  // Chains that fit in 16 registers beside both factors.
  static constexpr PeakTable table = simd::Peak<avx2::Lanes, 10>::table();
  return &table;
}

}  // namespace sten::kernels
