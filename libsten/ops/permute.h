// Tensors with their axes in another order.
#pragma once
#include "libsten/tensor/dense.h"

namespace sten {

// Axis d of the result is axis axes[d] of x; a permutation. Shares x's values where all elements
// stay in their order.
Dense permute(const Dense& x, const std::vector<Index>& axes);

// The axes that are false, then those that are true, each in their order: lines along the latter
// then lie together.
std::vector<Index> last_axes(const std::vector<bool>& last);
// permute(permute(x, axes), inverse(axes)) is x.
std::vector<Index> inverse(const std::vector<Index>& axes);

}  // namespace sten
