// Elements in another order than sten's own, in which the last index varies fastest.
#pragma once
#include "libsten/base/shape.h"
#include "libsten/tensor/values.h"

namespace sten {

// Strides, in elements, of a dense tensor whose first index varies fastest.
Shape column_major(const Shape& shape);
// Whether elements of `shape` with these strides lie in sten's own order, without gaps.
bool is_row_major(const Shape& shape, const Shape& strides);
// Element (i, j, ...) of `shape` is from[i * strides[0] + j * strides[1] + ...], which the caller
// has checked to be there; no stride is negative. The result has sten's own order.
Values row_major(const Values& from, const Shape& shape, const Shape& strides);

}  // namespace sten
