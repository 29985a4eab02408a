// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/shapes/gathered_slices.h"

#include <algorithm>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/indices.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/strided_copy.h"

namespace sten {
namespace {

Index index_of(std::string_view op, Index id, Index extent, Index i, const Shape& ids,
               const Shape& x) {
  const Index k = id < 0 ? id + extent : id;
  if (k < 0 || k >= extent)
    fail_usage("{}: ids{} is {}, but x is {}", op, index_text(i, ids), id, to_string(x));
  return k;
}

}  // namespace

GatheredSlices gather_elements_slices(std::string_view op, Index axis, const Shape& x,
                                      const Dense& ids) {
  axis = axis_of(op, axis, x);
  bool fits = ids.extents.size() == x.size();
  for (Index d = 0; fits && d < std::ssize(x); ++d) fits = d == axis || ids.extents[d] <= x[d];
  if (!fits)
    fail_usage("{}: x is {} but ids are {}: extents other than axis {} do not match", op,
               to_string(x), to_string(ids.extents), axis);
  const StridedView all = StridedView::of(x);
  GatheredSlices p{integers_of(op, "ids", ids), 1, ids.extents};
  parallel_for(std::ssize(p.at), Index{1} << 12, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      p.at[i] = index_of(op, p.at[i], x[axis], i, ids.extents, x) * all.steps[axis];
      Index rest = i;
      for (Index d = std::ssize(x); d-- > 0; rest /= ids.extents[d])
        if (d != axis) p.at[i] += rest % ids.extents[d] * all.steps[d];
    }
  });
  return p;
}

GatheredSlices gather_nd_slices(std::string_view op, Index batch, const Shape& x,
                                const Dense& ids) {
  const Index rank = std::ssize(ids.extents);
  const Index depth = rank > 0 ? ids.extents.back() : 0;
  bool fits = batch >= 0 && batch < rank && batch + depth <= std::ssize(x);
  for (Index d = 0; fits && d < batch; ++d) fits = ids.extents[d] == x[d];
  if (!fits)
    fail_usage("{}: x is {} but ids are {}, which do not fit with {} batch axes", op, to_string(x),
               to_string(ids.extents), batch);
  const StridedView all = StridedView::of(x);
  const std::vector<Index> given = integers_of(op, "ids", ids);
  GatheredSlices p{{}, 1, {ids.extents.begin(), ids.extents.end() - 1}};
  p.at.resize(size_of(p.shape));
  for (Index d = batch + depth; d < std::ssize(x); ++d) {
    p.n *= x[d];
    p.shape.push_back(x[d]);
  }
  checked_size(p.shape);
  Index per_batch = 1, step = p.n;
  for (Index d = batch; d + 1 < rank; ++d) per_batch *= ids.extents[d];
  for (Index d = batch; d < batch + depth; ++d) step *= x[d];
  for (Index i = 0; i < std::ssize(p.at); ++i) {
    p.at[i] = i / per_batch * step;
    for (Index d = 0; d < depth; ++d) {
      const Index k = i * depth + d, axis = batch + d;
      p.at[i] += index_of(op, given[k], x[axis], k, ids.extents, x) * all.steps[axis];
    }
  }
  return p;
}

Dense gather_slices(const Dense& x, const GatheredSlices& p) {
  Dense y{p.shape, Values::uninitialized(x.dtype(), size_of(p.shape))};
  with_width(x.values.width(), [&]<class U>(U) {
    const U* from = x.values.as<U>().data();
    U* to = y.values.mutate<U>().data();
    if (p.n == 1)  // avoids a call per element
      for (const Index at : p.at) *to++ = from[at];
    else
      for (const Index at : p.at) to = std::copy_n(from + at, p.n, to);
  });
  return y;
}

Dense gather_slices_grad(std::string_view op, const Dense& dy, const Shape& x,
                         const GatheredSlices& p) {
  check_gradient(op, dy, p.shape);
  return with_real(op, dy.dtype(), [&]<class T>(T) -> Dense {
    std::vector<double> sums(size_of(x));
    const T* g = dy.values.as<T>().data();
    for (const Index at : p.at)
      for (Index k = 0; k < p.n; ++k) sums[at + k] += *g++;
    Dense dx = unwritten<T>(x);
    std::ranges::transform(sums, dx.values.mutate<T>().begin(),
                           [](double v) { return static_cast<T>(v); });
    return dx;
  });
}

}  // namespace sten
