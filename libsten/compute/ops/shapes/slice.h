// SPDX-License-Identifier: Apache-2.0
// Slices that are written in place.
#pragma once
#include "libsten/core/dispatch/attributes.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// Replaces the indices [begin, end) of the axis (attributes) of a dense x by v, in place if x is
// not shared. Error (usage) if v has not their shape and x's dtype.
void put_slice(Tensor& x, const Tensor& v, const Attributes& attributes);

}  // namespace sten
