// SPDX-License-Identifier: Apache-2.0
// Strided copy: moves elements of any dtype between two strided views. Every operator that only
// moves elements uses it.
#pragma once
#include "libsten/compute/ops/common/strided_view.h"
#include "libsten/core/tensor/dense.h"

namespace sten {

// Copies element [k...] of view `from` of x to element [k...] of view `to`, for all k within the
// extents; on threads(), or on the device of both. Dtypes are equal. No element is written twice.
void strided_copy(const Shape& extents, const Values& x, const StridedView& from, Values& y,
                  const StridedView& to);

}  // namespace sten
