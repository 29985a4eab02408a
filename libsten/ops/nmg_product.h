// Products of n:m:g with dense activations.
#pragma once
#include "libsten/layout/nmg.h"
#include "libsten/ops/panels.h"

namespace sten {

// y[M, N] = A[M, K] * x[K, N], and what the epilogue adds, each as its form says: x has A's columns
// for features, y its rows.
// A is as NmgPacked wants it, and packed at its first product.
void nmg_product(const Nmg& a, const Activations& x, const ActivationsOut& y,
                 const Epilogue& epilogue = {});

}  // namespace sten
