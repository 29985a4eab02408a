// What is done to gradients before they are stepped along.
#pragma once
#include "libsten/tensor/tensor.h"

namespace sten {

// The sum of squares of w's gradient at the positions that w has, in double, in one pass; the same
// bits at any number of threads. The gradient is dense, or in w's positions and layout.
double squared_norm(const Tensor& gradient, const Tensor& w);

// sum += g, in place where nobody else holds the sum. Both in the same layout and positions.
void add_gradient(Tensor& sum, const Tensor& g);

}  // namespace sten
