#include "libsten/ops/permute.h"

#include <algorithm>

#include "libsten/base/parallel.h"
#include "libsten/tensor/transpose.h"

namespace sten {
namespace {

constexpr Index grain = Index{1} << 14;  // elements

// An axis of the result: its strides there and in x.
struct Axis {
  Index extent, to, from;
};

// Those that are walked; neighbours in both are one.
std::vector<Axis> walked_axes(const Shape& x, const std::vector<Index>& axes) {
  std::vector<Index> from(x.size());
  Index stride = 1;
  for (std::size_t d = x.size(); d-- > 0;) {
    from[d] = stride;
    stride *= x[d];
  }
  std::vector<Axis> walked;
  Index to = 1;
  for (std::size_t d = axes.size(); d-- > 0;) {
    const Index extent = x[axes[d]];
    if (extent == 1) continue;
    const Axis axis{extent, to, from[axes[d]]};
    to *= extent;
    if (!walked.empty() && axis.from == walked.back().from * walked.back().extent)
      walked.back().extent *= extent;
    else
      walked.push_back(axis);
  }
  std::ranges::reverse(walked);
  return walked;
}

struct Place {
  Index to = 0, from = 0;
};
Place place_of(const std::vector<Axis>& axes, Index i) {
  Place at;
  for (std::size_t d = axes.size(); d-- > 0;) {
    const Index k = i % axes[d].extent;
    i /= axes[d].extent;
    at.to += k * axes[d].to;
    at.from += k * axes[d].from;
  }
  return at;
}

// Where the last axis is the last one of x: runs of it.
template <class U>
void copy_runs(const U* x, U* to, std::vector<Axis> axes, Index n) {
  const Index run = axes.back().extent;
  axes.pop_back();
  parallel_for(n / run, std::max<Index>(1, grain / run), [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) std::copy_n(x + place_of(axes, i).from, run, to + i * run);
  });
}

// Else matrices of it and the axis that is the last one of x, columns of which are rows of the
// result.
template <class U>
void transpose_matrices(const U* x, U* to, std::vector<Axis> axes, Index n) {
  constexpr Index at_once = 32;  // columns
  const auto last = std::ranges::find(axes, Index{1}, &Axis::from);
  const Axis rows = axes.back(), cols = *last;
  axes.pop_back();
  axes.erase(last);
  const Index blocks = ceil_div(cols.extent, at_once), matrices = n / (rows.extent * cols.extent);
  const Index block_size = rows.extent * std::min(at_once, cols.extent);
  parallel_for(matrices * blocks, std::max<Index>(1, grain / block_size),
               [&](Index begin, Index end) {
                 for (Index i = begin; i < end; ++i) {
                   const Place at = place_of(axes, i / blocks);
                   const Index c = i % blocks * at_once;
                   transpose(x + at.from + c, rows.from, rows.extent,
                             std::min(at_once, cols.extent - c), to + at.to + c * cols.to, cols.to);
                 }
               });
}

}  // namespace

Dense permute(const Dense& x, const std::vector<Index>& axes) {
  Shape shape(axes.size());
  for (std::size_t d = 0; d < axes.size(); ++d) shape[d] = x.extents[axes[d]];
  const Index n = x.size();
  const std::vector<Axis> walked = walked_axes(x.extents, axes);
  if (n == 0 || walked.size() < 2) return {std::move(shape), x.values};
  Dense y{std::move(shape), Values::uninitialized(x.dtype(), n)};
  with_width(x.values.width(), [&]<class U>(U) {
    const U* from = x.values.as<U>().data();
    U* to = y.values.mutate<U>().data();
    if (walked.back().from == 1)
      copy_runs(from, to, walked, n);
    else
      transpose_matrices(from, to, walked, n);
  });
  return y;
}

}  // namespace sten
