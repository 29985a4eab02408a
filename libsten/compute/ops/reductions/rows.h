// SPDX-License-Identifier: Apache-2.0
// Rows along axes, gathered to be contiguous, for reductions and other row-wise operators.
#pragma once
#include "libsten/compute/ops/shapes/permute.h"
#include "libsten/core/base/parallel.h"

namespace sten {

// x with these axes last: `rows` rows of `length` elements, in the order of the other axes.
struct Rows {
  std::vector<Index> axes;  // of the rows, in x
  Dense x;
  Index rows = 1, length = 1;

  Rows(const Dense& from, const std::vector<bool>& along)
      : axes(last_axes(along)), x(permute(from, axes)) {
    for (std::size_t d = 0; d < along.size(); ++d) (along[d] ? length : rows) *= from.extents[d];
  }
  Rows(const Dense& from, Index axis) : Rows(from, only(from.extents.size(), axis)) {}
  // Calls f(row) on threads().
  template <class F>
  void each(F&& f) const {
    parallel_for(rows, std::max<Index>(1, (Index{1} << 14) / std::max<Index>(1, length)),
                 [&](Index begin, Index end) {
                   for (Index r = begin; r < end; ++r) f(r);
                 });
  }
  // Rows of the same or, along one axis, of another length, as a tensor with the axes of x.
  Dense back(Values lines, Index count) const {
    Shape shape = x.extents;
    shape.back() = count;
    return permute({std::move(shape), std::move(lines)}, inverse(axes));
  }
  Dense back(Values lines) const { return permute({x.extents, std::move(lines)}, inverse(axes)); }

 private:
  static std::vector<bool> only(std::size_t rank, Index axis) {
    std::vector<bool> along(rank);
    along[axis] = true;
    return along;
  }
};

}  // namespace sten
