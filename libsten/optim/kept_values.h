// Numbers at the positions of a masked weight, one after the other: what of a dense gradient is
// stepped along.
#pragma once
#include "libsten/layout/masked.h"

namespace sten {

// How many positions the mask of w keeps; counted once per set of positions (Tensor::of_positions).
Index kept_count(const Tensor& w);

// to[kept_count(w)] from an array of w's elements, in their order. `w` is masked.
void gather_kept(const Tensor& w, const float* from, float* to);
// Back into their places, and 0 where w is pruned.
void scatter_kept(const Tensor& w, const float* from, float* to);

}  // namespace sten
