// SPDX-License-Identifier: Apache-2.0
// Bias of products and convolutions: y[..., out] + b[out].
#pragma once
#include "libsten/core/dispatch/operators.h"

namespace sten {

// y[tokens, out] += b[out], on threads(). T is float or double.
template <class T>
void add_bias(Index tokens, Index out, const T* b, T* y);

// The gradient of b: the sum of dy[tokens, out] over tokens, in double, in segments of tokens that
// do not depend on threads().
template <class T>
Tensor bias_gradient(const OutFormat& format, Index tokens, Index out, const T* dy);

}  // namespace sten
