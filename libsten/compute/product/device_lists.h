// SPDX-License-Identifier: Apache-2.0
// Products of sparse matrices with activations on a device by sorted lists of positions.
#pragma once
#include "kernels/block/gemm_functions.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// w[out, in] is F32, csr or nmg: Unsupported for other layouts, for dims, and for 2^31 values or
// more. Its lists are made at the first product and cached with its positions: 5 bytes per value,
// and 8 per 128 elements of the matrix. Infinities of x affect only rows that use them.
void check_listed(const Tensor& w);

// y[tokens, out] = x w^T + bias; if transposed, y[tokens, in] = x w + bias. Sums are in ascending
// order of positions, by fused multiply-adds from 0.
void list_product(const Tensor& w, bool is_transposed, const kernels::ListOperands& x);

// The gradient dy^T x of the values of w; x.grad has room for all of them.
void list_samples(const Tensor& w, const kernels::SampleOperands& x);

}  // namespace sten
