// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/functions.h"
#include "kernels/simd/floats16.h"
#include "kernels/simd/functions_loops.h"

namespace sten::kernels {

const FunctionsTable* functions_avx512() { return &table_of<simd::Functions<simd::Floats16>>; }

}  // namespace sten::kernels
