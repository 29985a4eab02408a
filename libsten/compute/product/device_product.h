// Products of a matrix with dense ones on a device, float32, on the stream of the process.
#pragma once
#include "libsten/core/tensor/tensor.h"

namespace sten {

// Computes C[m, n] = A[m, k] * B[k, n]; B and C are row-major on A's device. A is F32: dense by
// cuBLAS; csr by cuSPARSE if available; nmg of axis 0 by our kernel or densified, as
// device_algorithm() decides; other csr and nmg by device_sparse_gemm(). Unsupported for other A,
// and if a library rejects A. Factors stay float32. Data that a library prepares are cached with A.
void device_product(const Tensor& a, Index n, const float* b, float* c);

}  // namespace sten
