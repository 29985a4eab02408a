// Functions of each element by itself, outside of an operator's call: for whoever has the elements
// in an order of his own.
#pragma once
#include <array>
#include <functional>
#include <string_view>

#include "libsten/base/shape.h"
#include "libsten/dispatch/attributes.h"

namespace sten {

// y[i] = f(x[i]) for n elements; y may be x.
using FloatMap = std::function<void(const float* x, Index n, float* y)>;

// That of an operator of one input, such as relu, silu, clip or scale, with the same bits. Empty
// without one, or where the attributes are not those of the operator.
FloatMap float_map(std::string_view op, const Attributes& attributes);
// Of those that add_elementwise() registers; Error (usage) for attributes of others.
FloatMap elementwise_map(std::string_view op, const Attributes& attributes);
// The two numbers that one of these takes, 0 where it takes less. Error (usage) likewise.
std::array<float, 2> elementwise_parameters(std::string_view op, const Attributes& attributes);

}  // namespace sten
