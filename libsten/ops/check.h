// What operators check of their inputs before they compute.
#pragma once
#include <string_view>

#include "libsten/dispatch/operators.h"

namespace sten {

// From the front; a negative one counts from the end. Error (usage) where the shape has none such.
Index axis_of(std::string_view op, Index axis, const Shape& x);
// Error (usage) unless both have one dtype: "add: a is F32 but b is F64".
void check_dtypes(std::string_view op, std::string_view a_name, DType a, std::string_view b_name,
                  DType b);
// Error (usage) unless they have one dtype and one shape: "mse: x is [2, 3] but y is [3]".
void check_alike(std::string_view op, std::string_view a_name, const Dense& a,
                 std::string_view b_name, const Dense& b);
// Of a gradient: the shape of the operator's input i. Error (usage) where the call gives none.
const Shape& input_shape(std::string_view op, const Call& call, std::size_t i);
// Error (usage) unless the gradient that an operator's gradient gets is of that shape.
void check_gradient(std::string_view op, const Dense& dy, const Shape& shape);

// Whether all of an output is wanted, dense: then it may share the values of an input.
bool is_plain(const OutFormat& f);

}  // namespace sten
