// SPDX-License-Identifier: Apache-2.0
// Padding and cropping of tensors of any dtype.
#include <algorithm>
#include <limits>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/strided_copy.h"

namespace sten {
namespace {

// Maps indices [at, at + count) of an output axis to indices from, from + step, ... of x.
struct Stretch {
  Index at, count, from, step;
};
using Stretches = std::vector<Stretch>;

// Element i of a periodically extended axis; x's own elements are [0, extent).
struct Source {
  Index from, step, run;  // index in x; number of following elements with this step
};
constexpr Index no_end = std::numeric_limits<Index>::max();
Source source_of(const std::string& mode, Index extent, Index i) {
  if (mode == "edge") {
    if (i < 0) return {0, 0, -i};
    if (i >= extent) return {extent - 1, 0, no_end};
    return {i, 1, extent - i};
  }
  // The period starts with x's elements in order.
  const bool is_wrap = mode == "wrap";
  if (extent == 1) return {0, 0, no_end};
  const Index period = is_wrap ? extent : 2 * (extent - 1);
  const Index k = (i % period + period) % period;
  if (k < extent) return {k, 1, extent - k};
  return {period - k, -1, period - k};
}

struct Padding {
  Shape shape;                   // of the output
  std::vector<Stretches> along;  // per axis
  bool is_constant;              // the value is used outside of stretches
};

Padding padding_of(const char* op, const Call& call, const Shape& x) {
  call.attributes.check(op, {"pads", "axes", "mode", "value"});
  check_inputs(op, call, 4);
  const std::string mode = call.attributes.word("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    fail_usage("{}: unknown mode '{}' (expected constant, reflect, edge or wrap)", op, mode);
  const std::vector<Index> pads = list_of(op, call, 1, "pads");
  std::vector<Index> axes = list_of(op, call, 3, "axes");
  const bool has_all = axes.empty() && !call.attributes.has("axes");
  if (has_all)
    for (Index d = 0; d < std::ssize(x); ++d) axes.push_back(d);
  axes_named(op, axes, x);
  if (pads.size() != 2 * axes.size())
    fail_usage("{}: x is {}: the pads {} must have two values for each of the axes {}", op,
               to_string(x), to_string(pads), to_string(axes));
  Padding p{x, {}, mode == "constant"};
  for (const Index extent : x) p.along.push_back({{0, extent, 0, 1}});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Index d = axis_of(op, axes[i], x), before = pads[i], after = pads[i + axes.size()];
    constexpr Index limit = Index{1} << 61;
    if (std::max(std::abs(before), std::abs(after)) > limit || x[d] + before + after < 0)
      fail_usage("{}: the pads {} and {} do not fit axis {} of {}", op, before, after, d,
                 to_string(x));
    Index& extent = p.shape[d] = x[d] + before + after;
    Stretches& to = p.along[d];
    to.clear();
    if (p.is_constant) {
      const Index first = std::max<Index>(0, -before);
      const Index last = std::min(x[d], x[d] + after);
      if (first < last) to.push_back({first + before, last - first, first, 1});
      continue;
    }
    if (extent > 0 && x[d] == 0)
      fail_usage("{}: axis {} of x {} is empty and cannot be repeated", op, d, to_string(x));
    for (Index at = 0; at < extent;) {
      const Source s = source_of(mode, x[d], at - before);
      const Index count = std::min(s.run, extent - at);
      to.push_back({at, count, s.from, s.step});
      at += count;
    }
  }
  checked_size(p.shape);
  return p;
}

// Calls f(extents, view of x, view of the output) for each block of stretches.
template <class F>
void each_block(const Padding& p, const Shape& x, F&& f) {
  const StridedView from = StridedView::of(x), to = StridedView::of(p.shape);
  for (const Stretches& s : p.along)
    if (s.empty()) return;
  std::vector<std::size_t> which(x.size());
  for (;;) {
    Shape extents(x.size());
    StridedView a = from, b = to;
    for (std::size_t d = 0; d < x.size(); ++d) {
      const Stretch& s = p.along[d][which[d]];
      extents[d] = s.count;
      a.first += s.from * from.steps[d];
      a.steps[d] *= s.step;
      b.first += s.at * to.steps[d];
    }
    f(extents, a, b);
    std::size_t d = x.size();
    while (d-- > 0) {
      if (++which[d] < p.along[d].size()) break;
      which[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

// The padding value, in x's dtype.
Values value_of(const Call& call, const Dense& x) {
  if (call.in.size() > 2) {
    const Dense& v = call.in[2].as<Dense>();
    check_dtypes("pad", "x", x.dtype(), "the value", v.dtype());
    if (v.size() != 1)
      fail_usage("pad: the value must be a scalar, got shape {}", to_string(v.extents));
    return v.values;
  }
  Values one(x.dtype(), 1);
  const double v = call.attributes.number("value", 0);
  if (v == 0) return one;
  with_real("pad", x.dtype(), [&]<class T>(T) { one.mutate<T>()[0] = static_cast<T>(v); });
  return one;
}

Tensor pad(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  const Padding p = padding_of("pad", call, x.extents);
  Dense y{p.shape, Values::uninitialized(x.dtype(), size_of(p.shape), x.device())};
  if (p.is_constant)
    strided_copy(p.shape, value_of(call, x).to(x.device()), {0, std::vector<Index>(p.shape.size())},
                 y.values, StridedView::of(p.shape));
  each_block(p, x.extents,
             [&](const Shape& extents, const StridedView& from, const StridedView& to) {
               strided_copy(extents, x.values, from, y.values, to);
             });
  return y;
}

// The gradient of an element is the sum of those of its copies, in order.
Tensor pad_grad(const Call& call) {
  const Dense& dy = call.in[0].as<Dense>();
  const Shape& shape = input_shape("pad.grad", call, 0);
  const Padding p = padding_of("pad.grad", call, shape);
  check_gradient("pad.grad", dy, p.shape);
  if (p.is_constant) {
    Dense dx{shape, Values(dy.dtype(), size_of(shape), dy.device())};
    each_block(p, shape, [&](const Shape& extents, const StridedView& from, const StridedView& to) {
      strided_copy(extents, dy.values, to, dx.values, from);
    });
    return dx;
  }
  if (dy.device() != Device::cpu)
    fail_unsupported("pad.grad on a device supports the mode constant only");
  return with_real("pad.grad", dy.dtype(), [&]<class T>(T) -> Tensor {
    std::vector<double> sums(size_of(shape));
    const T* g = dy.values.as<T>().data();
    each_block(p, shape, [&](const Shape& extents, const StridedView& from, const StridedView& to) {
      const Index n = size_of(extents);
      for (Index i = 0; i < n; ++i) {
        Index rest = i, a = from.first, b = to.first;
        for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d]) {
          const Index k = rest % extents[d];
          a += k * from.steps[d];
          b += k * to.steps[d];
        }
        sums[a] += g[b];
      }
    });
    Dense dx = unwritten<T>(shape);
    std::ranges::transform(sums, dx.values.mutate<T>().begin(),
                           [](double v) { return static_cast<T>(v); });
    return dx;
  });
}

}  // namespace

void add_pads(Operators& all) {
  add_plain(all, "pad", SavedForBackward::others, pad, pad_grad, Runs::anywhere);
}

}  // namespace sten
