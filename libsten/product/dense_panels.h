// Products of dense matrices with activations in panels.
#pragma once
#include "libsten/product/panels.h"

namespace sten {

// y[M, N] = A[M, K] * x[K, N] and what the epilogue makes of it, on threads(). A is row-major, x and y
// are both panels, or both few, aligned as Array is.
void dense_panels_product(Index rows, Index cols, const float* a, const Activations& x,
                          const ActivationsOut& y, const Epilogue& epilogue = {});

}  // namespace sten
