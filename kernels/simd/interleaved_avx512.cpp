// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/interleaved.h"
#include "kernels/simd/interleaved16.h"
#include "kernels/simd/interleaved_loops.h"

namespace sten::kernels {

const InterleavedTable* interleaved_avx512() {
  return &table_of<simd::InterleavedLoops<avx512::Interleaved16>>;
}

}  // namespace sten::kernels
