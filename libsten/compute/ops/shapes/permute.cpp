// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/shapes/permute.h"

#include "libsten/compute/ops/common/strided_copy.h"

namespace sten {

Dense permute(const Dense& x, const std::vector<Index>& axes) {
  const StridedView all = StridedView::of(x.extents);
  Shape shape(axes.size());
  StridedView from{0, std::vector<Index>(axes.size())};
  // Axes with more than one element keep their order.
  bool is_in_order = true;
  Index before = -1;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    shape[d] = x.extents[axes[d]];
    from.steps[d] = all.steps[axes[d]];
    if (shape[d] == 1) continue;
    is_in_order = is_in_order && axes[d] > before;
    before = axes[d];
  }
  if (x.size() == 0 || is_in_order) return {std::move(shape), x.values};
  Dense y{std::move(shape), Values::uninitialized(x.dtype(), x.size(), x.device())};
  strided_copy(y.extents, x.values, from, y.values, StridedView::of(y.extents));
  return y;
}

std::vector<Index> last_axes(const std::vector<bool>& last) {
  std::vector<Index> axes;
  for (const bool wanted : {false, true})
    for (std::size_t d = 0; d < last.size(); ++d)
      if (last[d] == wanted) axes.push_back(static_cast<Index>(d));
  return axes;
}

std::vector<Index> inverse(const std::vector<Index>& axes) {
  std::vector<Index> back(axes.size());
  for (std::size_t d = 0; d < axes.size(); ++d) back[axes[d]] = static_cast<Index>(d);
  return back;
}

}  // namespace sten
