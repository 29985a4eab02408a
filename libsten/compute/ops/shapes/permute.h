// SPDX-License-Identifier: Apache-2.0
// Permutation of axes.
#pragma once
#include "libsten/core/tensor/dense.h"

namespace sten {

// Axis d of the result is axis axes[d] of x; axes is a permutation. Shares x's values if the order
// of elements is unchanged.
Dense permute(const Dense& x, const std::vector<Index>& axes);

// The axes that are false, then those that are true, each in order, so that lines along the latter
// are contiguous.
std::vector<Index> last_axes(const std::vector<bool>& last);
// The inverse permutation: permute(permute(x, axes), inverse(axes)) is x.
std::vector<Index> inverse(const std::vector<Index>& axes);

}  // namespace sten
