// SPDX-License-Identifier: Apache-2.0
// Sampled products: gradients of n:m and n:m:g with axis 0 at stored positions.
#pragma once
#include "libsten/compute/product/product_impl.h"

namespace sten {

// Whether nm_sampled() supports A: n:m or n:m:g with axis 0, whose values can share loads of x and
// whose slabs have several strips of each pattern. Other A are sampled by runs of single rows.
bool supports_nm_sampled(const Tensor& a, const ProductCall&);

// The values of dA = dy[M, N] * x[K, N]^T in A's order; see sampled_product().
Values nm_sampled(const Tensor& a, const Activations& dy, const Activations& x);

}  // namespace sten
