// Some elements of a tensor: a bit for each, or a list where there are few.
#pragma once
#include <vector>

#include "libsten/tensor/mask.h"

namespace sten {

struct Positions {
  Shape extents;
  Mask mask;  // of a tensor that is not listed
  bool is_listed = false;
  std::vector<Index> at;  // dense offsets, ascending, of one that is

  static Positions of(Mask mask) { return {mask.extents, mask, false, {}}; }
  static Positions listed(Shape extents, std::vector<Index> at) {
    return {std::move(extents), {}, true, std::move(at)};
  }
  Index size() const { return size_of(extents); }  // of the tensor
  Index count() const { return is_listed ? std::ssize(at) : mask.count(); }
};

}  // namespace sten
