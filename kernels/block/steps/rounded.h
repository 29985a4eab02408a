// SPDX-License-Identifier: Apache-2.0
// Products that are rounded before an addition, as on the CPU, instead of fused.
#pragma once
#include "kernels/device.h"

namespace sten::kernels {

#if defined(__CUDACC__)
__device__ inline float rounded_product(float a, float b) { return __fmul_rn(a, b); }
#else
inline float rounded_product(float a, float b) { return a * b; }
#endif

}  // namespace sten::kernels
