// Parts of tensors that are written in place.
#pragma once
#include "libsten/dispatch/attributes.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// The indices [begin, end) of the axis, all of them attributes, of a dense x become v: where nobody
// else holds x, in its memory. Error (usage) where v is not of that shape and x's dtype.
void put_slice(Tensor& x, const Tensor& v, const Attributes& attributes);

}  // namespace sten
