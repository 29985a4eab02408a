// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include "kernels/simd/floats8.h"
#include "kernels/simd/winograd_loops.h"
#include "kernels/winograd.h"

namespace sten::kernels {

const WinogradTable* winograd_avx2() { return &table_of<simd::Winograd<simd::Floats8>>; }

}  // namespace sten::kernels
