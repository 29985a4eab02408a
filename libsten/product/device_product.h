// Products of a matrix with dense ones on a device, float32, in the process's one stream.
#pragma once
#include "kernels/block/gemm_functions.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// C[m, n] = A[m, k] * B[k, n], B and C row-major on A's device. A is an F32 matrix: dense by cuBLAS,
// csr by cuSPARSE where it is there, nmg of axis 0 by a kernel of ours or as dense, as device_way() says
// of linear layers, and others of csr and nmg by device_sparse_gemm(). Unsupported for any other A, and where a library does not take A. What a
// library prepares is kept with A.
void device_product(const Tensor& a, Index n, const float* b, float* c);

// C[i] = alpha op(A[i]) op(B[i]) + beta C[i] of dense matrices on the device, as GemmOperands says, by
// cuBLAS: Unsupported where it is missing. The caller leaves x.tf32 alone.
void device_gemm(kernels::GemmOperands x);

// Whether device_gemm() may round factors to TF32, in the whole process. False at first.
void allow_device_tf32(bool allowed);
bool device_tf32_allowed();

}  // namespace sten
