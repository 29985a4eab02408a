// SPDX-License-Identifier: Apache-2.0
// Checks of operators' inputs.
#pragma once
#include <string_view>

#include "libsten/core/dispatch/operators.h"

namespace sten {

// Converts a negative axis to one from the front. Error (usage) if the shape has no such axis.
Index axis_of(std::string_view op, Index axis, const Shape& x);
// Error (usage) unless both dtypes are equal: "add: a is F32 but b is F64".
void check_dtypes(std::string_view op, std::string_view a_name, DType a, std::string_view b_name,
                  DType b);
// Error (usage) unless dtypes and shapes are equal: "mse: x is [2, 3] but y is [3]".
void check_alike(std::string_view op, std::string_view a_name, const Dense& a,
                 std::string_view b_name, const Dense& b);
// In a gradient: the shape of the operator's input i. Error (usage) if the call lacks it.
const Shape& input_shape(std::string_view op, const Call& call, std::size_t i);
// Error (usage) unless a gradient's operand dy has this shape.
void check_gradient(std::string_view op, const Dense& dy, const Shape& shape);

// Whether an output is dense without a sparsifier, so that it may share the values of an input.
bool is_plain(const OutFormat& f);

}  // namespace sten
