// SPDX-License-Identifier: Apache-2.0
// Gathered slices: the slices of a tensor that indices name, for gathers and scatters.
#pragma once
#include <string_view>
#include <vector>

#include "libsten/core/tensor/dense.h"

namespace sten {

struct GatheredSlices {
  std::vector<Index> at;  // offset in x of each slice
  Index n = 1;            // elements per slice
  Shape shape;            // of all slices together
};

// Slices of one element for ids[k...]: x[k...] with the id instead of k at the axis. Negative ids
// count from the end. Error (usage) for ids out of range.
GatheredSlices gather_elements_slices(std::string_view op, Index axis, const Shape& x,
                                      const Dense& ids);

// The last axis of ids[k..., d] has indices of d axes of x, after `batch` axes of both. Returns the
// slices, [k..., rest of x].
GatheredSlices gather_nd_slices(std::string_view op, Index batch, const Shape& x, const Dense& ids);

// Gathers slices of x, of any dtype.
Dense gather_slices(const Dense& x, const GatheredSlices& p);
// The gradient: an element's is the sum over its slices, in order.
Dense gather_slices_grad(std::string_view op, const Dense& dy, const Shape& x,
                         const GatheredSlices& p);

}  // namespace sten
