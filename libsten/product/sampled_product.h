// Gradients of sparse weights, at the positions that are stored.
#pragma once
#include "libsten/product/panels.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// dA = dy[M, N] * x[K, N]^T, each as its form says: the gradient of A[M, K] in
// sparse_product(), where dy is that of y. A tensor of A's layout and positions. What is a filler
// in n:m and n:m:g cannot be told from a kept zero, and has its gradient; padding is 0. Only A's
// positions matter, and they are packed at its first such product and kept with it, 6 bytes for
// each. Sums are added up in the same order at any number of threads. A is F32 of rank 2 in one of
// sparse_product_layouts() and has fewer than 2^32 values, and dy and x are of its extents, else
// Error (usage).
Tensor sampled_product(const Tensor& a, const Activations& dy, const Activations& x);

// dA = dC[m,n] * B[k,n]^T, row-major.
Tensor sampled_gemm(const Tensor& a, Index n, const float* dc, const float* b);

// dA = dY[n,m]^T * X[n,k].
Tensor sampled_linear(const Tensor& a, Index n, const float* dy, const float* x);

}  // namespace sten
