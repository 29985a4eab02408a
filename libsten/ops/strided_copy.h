// Strided copy: moves elements of any dtype between two strided views. Every operator that only
// moves elements uses it.
#pragma once
#include <vector>

#include "libsten/tensor/dense.h"

namespace sten {

// A strided view of a row-major tensor: element [k...] is the tensor's element first + sum of k[d]
// * steps[d]. A step of 0 repeats, a negative one reverses.
struct StridedView {
  Index first = 0;
  std::vector<Index> steps;

  // The view of all elements of that shape, in order.
  static StridedView of(const Shape& shape);
};

// Copies element [k...] of view `from` of x to element [k...] of view `to`, for all k within the
// extents; on threads(), or on the device of both. Dtypes are equal. No element is written twice.
void strided_copy(const Shape& extents, const Values& x, const StridedView& from, Values& y,
                  const StridedView& to);

}  // namespace sten
