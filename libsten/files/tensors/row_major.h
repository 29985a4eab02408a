// SPDX-License-Identifier: Apache-2.0
// Conversion of strided elements to row-major order.
#pragma once
#include "libsten/core/base/shape.h"
#include "libsten/core/tensor/values.h"

namespace sten {

// Strides, in elements, of a dense tensor in column-major order.
Shape column_major(const Shape& shape);
// Whether these strides are row-major without gaps.
bool is_row_major(const Shape& shape, const Shape& strides);
// Returns the elements in row-major order. Element (i, j, ...) is from[i * strides[0] + j *
// strides[1] + ...]; the caller has checked that all are in `from`. Strides are not negative.
Values row_major(const Values& from, const Shape& shape, const Shape& strides);

}  // namespace sten
