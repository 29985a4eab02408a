// Products of a matrix with dense ones on a device, float32, in the process's one stream.
#pragma once
#include "libsten/tensor/tensor.h"

namespace sten {

// C[m, n] = A[m, k] * B[k, n], B and C row-major on A's device. A is an F32 matrix: dense by cuBLAS,
// csr by cuSPARSE, nmg of axis 0 by a kernel of ours. Unsupported for any other A, and where the
// library is missing or does not take A. What a library prepares is kept with A.
void device_product(const Tensor& a, Index n, const float* b, float* c);

}  // namespace sten
