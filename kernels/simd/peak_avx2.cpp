// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include "kernels/peak.h"
#include "kernels/simd/floats8.h"
#include "kernels/simd/peak_loops.h"

namespace sten::kernels {

// Chains that fit in 16 registers beside both factors.
const PeakTable* peak_avx2() { return &table_of<simd::Peak<simd::Floats8, 10>>; }

}  // namespace sten::kernels
