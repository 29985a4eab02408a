// SPDX-License-Identifier: Apache-2.0
// Elementwise functions outside of an operator call, for elements in another order.
#pragma once
#include <functional>
#include <string_view>

#include "libsten/core/base/shape.h"
#include "libsten/core/dispatch/attributes.h"

namespace sten {

// y[i] = f(x[i]) for n elements; y may be x.
using FloatMap = std::function<void(const float* x, Index n, float* y)>;

// The function of an operator of one input, such as relu, silu, clip or scale, with the same bits.
// Empty if there is none, or for invalid attributes.
FloatMap float_map(std::string_view op, const Attributes& attributes);

}  // namespace sten
