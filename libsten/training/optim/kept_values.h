// SPDX-License-Identifier: Apache-2.0
// Elements at the kept positions of a masked weight, for steps along a dense gradient.
#pragma once
#include "libsten/core/layout/masked.h"

namespace sten {

// The number of positions in the mask of w, cached with its positions (Tensor::of_positions).
Index kept_count(const Tensor& w);

// Gathers the kept elements, in order: from[size of w], to[kept_count(w)]. w is masked.
void gather_kept(const Tensor& w, const float* from, float* to);
// The inverse; writes 0 to pruned positions.
void scatter_kept(const Tensor& w, const float* from, float* to);

}  // namespace sten
