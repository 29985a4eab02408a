// SPDX-License-Identifier: Apache-2.0
// Elements of a row-major tensor by first element and strides.
#pragma once
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

// A strided view of a row-major tensor: element [k...] is the tensor's element first + sum of k[d]
// * steps[d]. A step of 0 repeats, a negative one reverses.
struct StridedView {
  Index first = 0;
  std::vector<Index> steps;

  // The view of all elements of that shape, in order.
  static StridedView of(const Shape& shape);
};

}  // namespace sten
