#define STEN_TARGET STEN_AVX512
#include "kernels/simd/pairs.h"
#include "kernels/simd/pairs16.h"
#include "kernels/simd/pairs_loops.h"

namespace sten::kernels {

const PairsTable* pairs_avx512() {
  static constexpr PairsTable table = simd::PairsLoops<avx512::Pairs16>::table();
  return &table;
}

}  // namespace sten::kernels
