// SPDX-License-Identifier: Apache-2.0
// The share of nonzeros by which a dense weight counts as sparse.
#pragma once
#include "libsten/core/tensor/tensor.h"

namespace sten {

// A dense weight with a larger share of nonzeros does not count as sparse. 2:4 keeps more than half
// of rows that 4 does not divide.
inline constexpr double most_nonzeros = 0.6;

// The share of nonzeros of a weight of floats, in any layout; 0 if empty.
double share_of_nonzeros(const Tensor& w);

}  // namespace sten
