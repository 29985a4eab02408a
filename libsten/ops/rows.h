// Lines along axes, one after the other: what reductions and other operators on lines compute on.
#pragma once
#include "libsten/base/parallel.h"
#include "libsten/ops/permute.h"

namespace sten {

// x with those axes last: `rows` lines of `length` elements each, in the order of the other axes.
struct Rows {
  std::vector<Index> axes;  // of the lines, in x
  Dense x;
  Index rows = 1, length = 1;

  Rows(const Dense& from, const std::vector<bool>& along)
      : axes(last_axes(along)), x(permute(from, axes)) {
    for (std::size_t d = 0; d < along.size(); ++d) (along[d] ? length : rows) *= from.extents[d];
  }
  Rows(const Dense& from, Index axis) : Rows(from, only(from.extents.size(), axis)) {}
  // f(row) on threads().
  template <class F>
  void each(F&& f) const {
    parallel_for(rows, std::max<Index>(1, (Index{1} << 14) / std::max<Index>(1, length)),
                 [&](Index begin, Index end) {
                   for (Index r = begin; r < end; ++r) f(r);
                 });
  }
  // Lines of the same or, along one axis, of another length, as a tensor with x's axes.
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
