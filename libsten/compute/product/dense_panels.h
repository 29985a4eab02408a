// SPDX-License-Identifier: Apache-2.0
// Products of dense matrices with activations in panels.
#pragma once
#include "libsten/compute/product/panels.h"

namespace sten {

// Computes y[M, N] = A[M, K] * x[K, N] on threads() and applies the epilogue. A is row-major; x and
// y are both panels or both a narrow panel, aligned like Array.
void dense_panels_product(Index rows, Index cols, const float* a, const Activations& x,
                          const ActivationsOut& y, const Epilogue& epilogue = {});

}  // namespace sten
