// Products of n:m:g with dense activations.
#pragma once
#include "libsten/product/panels.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// y[M, N] = A[M, K] * x[K, N], and what the epilogue adds, each as its form says: x has A's columns
// for features, y its rows. A is nmg, F32 of rank 2 with axis 0, and packed at its first product.
void nmg_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                 const Epilogue& epilogue = {});

}  // namespace sten
