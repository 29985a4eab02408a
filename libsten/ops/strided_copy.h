// Elements of any dtype moved from places of one tensor to places of another. Every operator that
// only moves elements is this, with its own steps.
#pragma once
#include <vector>

#include "libsten/tensor/dense.h"

namespace sten {

// Some elements of a row-major tensor, with axes of their own: element [k...] of them is element
// first + sum of k[d] * steps[d] of the tensor. A step of 0 repeats, a negative one goes back.
struct StridedView {
  Index first = 0;
  std::vector<Index> steps;

  // All elements of that shape, in order.
  static StridedView of(const Shape& shape);
};

// Element [k...] of the places `to` becomes element [k...] of the places `from`, for all k within
// the extents; on threads(), or on the device where both are. Both have one dtype. No place is written
// twice.
void strided_copy(const Shape& extents, const Values& x, const StridedView& from, Values& y,
                  const StridedView& to);

}  // namespace sten
