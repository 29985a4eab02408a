// Gradients of sparse weights, at the positions that are stored.
#pragma once
#include "libsten/tensor/tensor.h"

namespace sten {

// dA = dC[m,n] * B[k,n]^T, the gradient of A[m,k] in sparse_gemm(), and that in sparse_linear(),
// dA = dY[n,m]^T * X[n,k]: a tensor of A's layout and positions. What is a filler in n:m and n:m:g
// cannot be told from a kept zero, and has its gradient; padding is 0. Only A's positions matter,
// and they are packed at its first such product and kept with it, 12 bytes for each; beside them,
// 4 bytes for each are needed meanwhile. Sums are added up in the same order at any number of
// threads. A is F32 of rank 2 in one of sparse_product_layouts() and has fewer than 2^32 values,
// else Error (usage).
Tensor sampled_gemm(const Tensor& a, Index n, const float* dc, const float* b);
Tensor sampled_linear(const Tensor& a, Index n, const float* dy, const float* x);

}  // namespace sten
