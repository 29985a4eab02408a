// SPDX-License-Identifier: Apache-2.0
// Linear layers of bfloat16 with float32 sums, on threads() threads.
#pragma once
#include "libsten/core/tensor/tensor.h"

namespace sten {

// Computes Y[n, m] = X[n, k] * A[m, k]^T + bias[m], rounded once. bias may be nullptr. A: BF16 of
// rank 2, in a layout with products. Without a bfloat16 product that is worthwhile for A, widens
// the factors and multiplies in float32; the widened A is cached with it. Unsupported, an Error
// (usage), without products with A.
void bf16_linear(const Tensor& a, Index n, const std::uint16_t* x, const float* bias,
                 std::uint16_t* y);

// Computes dX[n, k] = dY[n, m] * A[m, k] in float32 and rounds it: the gradient of X.
void bf16_transposed_linear(const Tensor& a, Index n, const std::uint16_t* dy, std::uint16_t* dx);

}  // namespace sten
