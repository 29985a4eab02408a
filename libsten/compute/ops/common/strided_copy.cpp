// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/strided_copy.h"

#include <algorithm>

#include "libsten/compute/ops/common/device_walk.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/transpose.h"

namespace sten {
namespace {

constexpr Index grain = Index{1} << 14;  // in elements

struct Axis {
  Index extent, to, from;  // strides
};
using Axes = std::vector<Axis>;

// The axes to iterate; neighbours that are contiguous in both tensors are merged.
Axes copy_axes(const Shape& extents, const StridedView& from, const StridedView& to) {
  Axes walked;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const Axis axis{extents[d], to.steps[d], from.steps[d]};
    if (axis.extent == 1) continue;
    if (!walked.empty() && axis.from == walked.back().from * walked.back().extent &&
        axis.to == walked.back().to * walked.back().extent)
      walked.back().extent *= axis.extent;
    else
      walked.push_back(axis);
  }
  if (walked.empty()) walked.push_back({1, 1, 1});
  std::ranges::reverse(walked);
  return walked;
}

struct AxisCursor {
  Index to = 0, from = 0;
};
AxisCursor place_of(const Axes& axes, Index i) {
  AxisCursor at;
  for (std::size_t d = axes.size(); d-- > 0;) {
    const Index k = i % axes[d].extent;
    i /= axes[d].extent;
    at.to += k * axes[d].to;
    at.from += k * axes[d].from;
  }
  return at;
}

// Copies runs along the last axis.
template <class U>
void copy_runs(const U* x, U* y, Axes axes, Index n) {
  const Axis run = axes.back();
  axes.pop_back();
  parallel_for(n / run.extent, std::max<Index>(1, grain / run.extent), [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const AxisCursor at = place_of(axes, i);
      const U* from = x + at.from;
      U* to = y + at.to;
      if (run.from == 1 && run.to == 1)
        std::copy_n(from, run.extent, to);
      else
        for (Index k = 0; k < run.extent; ++k) to[k * run.to] = from[k * run.from];
    }
  });
}

// Transposes matrices of the result's last axis and x's innermost axis.
template <class U>
void transpose_matrices(const U* x, U* y, Axes axes, std::size_t last, Index n) {
  constexpr Index at_once = 32;  // in columns
  const Axis rows = axes.back(), cols = axes[last];
  axes.pop_back();
  axes.erase(axes.begin() + last);
  const Index blocks = ceil_div(cols.extent, at_once), matrices = n / (rows.extent * cols.extent);
  const Index block_size = rows.extent * std::min(at_once, cols.extent);
  parallel_for(matrices * blocks, std::max<Index>(1, grain / block_size),
               [&](Index begin, Index end) {
                 for (Index i = begin; i < end; ++i) {
                   const AxisCursor at = place_of(axes, i / blocks);
                   const Index c = i % blocks * at_once;
                   transpose(x + at.from + c, rows.from, rows.extent,
                             std::min(at_once, cols.extent - c), y + at.to + c * cols.to, cols.to);
                 }
               });
}

}  // namespace

void strided_copy(const Shape& extents, const Values& x, const StridedView& from, Values& y,
                  const StridedView& to) {
  const Index n = size_of(extents);
  if (n == 0) return;
  if (x.device() == Device::cuda) return strided_copy_on_device(extents, x, from, y, to);
  const Axes axes = copy_axes(extents, from, to);
  // The last axis of the result is written in order; another axis of x is read in order.
  std::size_t last = axes.size() - 1;
  if (axes.back().to == 1 && axes.back().from != 1)
    for (std::size_t d = 0; d + 1 < axes.size(); ++d)
      if (axes[d].from == 1) last = d;
  with_width(x.width(), [&]<class U>(U) {
    const U* source = x.as<U>().data() + from.first;
    U* target = y.mutate<U>().data() + to.first;
    if (last + 1 == axes.size())
      copy_runs(source, target, axes, n);
    else
      transpose_matrices(source, target, axes, last, n);
  });
}

}  // namespace sten
