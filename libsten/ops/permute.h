// Tensors with their axes in another order.
#pragma once
#include "libsten/tensor/dense.h"

namespace sten {

// Axis d of the result is axis axes[d] of x; a permutation. Shares x's values where all elements
// stay in their order.
Dense permute(const Dense& x, const std::vector<Index>& axes);

}  // namespace sten
