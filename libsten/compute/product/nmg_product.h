// Products of n:m:g with dense activations, in slabs.
#pragma once
#include "libsten/compute/product/panels.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// Computes y[M, N] = A[M, K] * x[K, N] and applies the epilogue, for every activation layout. A is
// nmg, F32, rank 2, axis 0, and is packed at its first product.
void nmg_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                 const Epilogue& epilogue);

}  // namespace sten
