// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/peak.h"
#include "kernels/simd/floats16.h"
#include "kernels/simd/peak_loops.h"

namespace sten::kernels {

// Chains that fit in 32 registers beside both factors.
const PeakTable* peak_avx512() { return &table_of<simd::Peak<simd::Floats16, 24>>; }

}  // namespace sten::kernels
