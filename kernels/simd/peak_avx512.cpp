#define STEN_TARGET STEN_AVX512
#include "kernels/peak.h"
#include "kernels/simd/floats16.h"
#include "kernels/simd/peak_loops.h"

namespace sten::kernels::avx512 {
namespace {

struct Lanes : simd::Floats16 {};

}  // namespace
}  // namespace sten::kernels::avx512

namespace sten::kernels {

const PeakTable* peak_avx512() {
  // Chains that fit in 32 registers beside both factors.
  static constexpr PeakTable table = simd::Peak<avx512::Lanes, 24>::table();
  return &table;
}

}  // namespace sten::kernels
