// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include "kernels/functions.h"
#include "kernels/simd/floats8.h"
#include "kernels/simd/functions_loops.h"

namespace sten::kernels {

const FunctionsTable* functions_avx2() { return &table_of<simd::Functions<simd::Floats8>>; }

}  // namespace sten::kernels
