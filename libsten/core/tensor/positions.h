// SPDX-License-Identifier: Apache-2.0
// Positions: a set of elements of a tensor, as a mask or, for few elements, as a list.
#pragma once
#include <vector>

#include "libsten/core/tensor/mask.h"

namespace sten {

struct Positions {
  Shape extents;
  Mask mask;  // if not is_listed
  bool is_listed = false;
  std::vector<Index> at;  // dense offsets, ascending; if is_listed

  static Positions of(Mask mask) { return {mask.extents, mask, false, {}}; }
  static Positions listed(Shape extents, std::vector<Index> at) {
    return {std::move(extents), {}, true, std::move(at)};
  }
  Index size() const { return size_of(extents); }  // elements of the tensor
  Index count() const { return is_listed ? std::ssize(at) : mask.count(); }
};

}  // namespace sten
