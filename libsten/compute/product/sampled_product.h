// SPDX-License-Identifier: Apache-2.0
// Sampled products: gradients of sparse weights at stored positions.
#pragma once
#include "libsten/compute/product/panels.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// Returns dA = dy[M, N] * x[K, N]^T for every activation layout: the gradient of A[M, K] in
// sparse_product(), where dy is the gradient of y. The result has A's layout and positions. Fillers
// of n:m and n:m:g cannot be distinguished from kept zeros and get their gradient; padding is 0.
// Only A's positions matter; they are packed at the first sampled product and cached, 6 bytes per
// position. Sums have the same order for every number of threads. Error (usage) unless A is F32 of
// rank 2 in one of sparse_product_layouts() with fewer than 2^32 values, and extents match.
Tensor sampled_product(const Tensor& a, const Activations& dy, const Activations& x);

// Returns dA = dC[m,n] * B[k,n]^T, row-major.
Tensor sampled_gemm(const Tensor& a, Index n, const float* dc, const float* b);

// Returns dA = dY[n,m]^T * X[n,k].
Tensor sampled_linear(const Tensor& a, Index n, const float* dy, const float* x);

}  // namespace sten
