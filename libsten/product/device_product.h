// Products of a matrix on a device with dense ones, float32, in the process's one stream.
#pragma once
#include "libsten/tensor/tensor.h"

namespace sten {

// C[m, n] = A[m, k] * B[k, n], B and C row-major on A's device. A is F32 of rank 2: dense by
// cuBLAS, csr by cuSPARSE, nmg of axis 0 by a kernel of ours. Unsupported for other ones, and where
// the library is missing or does not take A. What a library makes of A is kept with it.
void device_product(const Tensor& a, Index n, const float* b, float* c);

}  // namespace sten
