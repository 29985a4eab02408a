// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/simd/floats16.h"
#include "kernels/simd/winograd_loops.h"
#include "kernels/winograd.h"

namespace sten::kernels {

const WinogradTable* winograd_avx512() { return &table_of<simd::Winograd<simd::Floats16>>; }

}  // namespace sten::kernels
