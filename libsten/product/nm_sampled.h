// Gradients of n:m and n:m:g with axis 0, at the positions that are stored.
#pragma once
#include "libsten/product/panels.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// Whether nm_sampled() takes A: n:m or n:m:g with axis 0, whose values can share what is loaded of x
// and whose slabs have several strips of each pattern. Others are sampled by runs of single rows.
bool has_nm_sampled(const Tensor& a);

// The values of dA = dy[M, N] * x[K, N]^T, in A's order, as sampled_product() has them.
Values nm_sampled(const Tensor& a, const Activations& dy, const Activations& x);

}  // namespace sten
