// SPDX-License-Identifier: Apache-2.0
// Slices of tensors of any dtype by ranges of indices.
#include <algorithm>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/strided_copy.h"
#include "libsten/compute/ops/shapes/slice.h"

namespace sten {
namespace {

// The selected part of x.
struct Cut {
  Shape shape;
  StridedView places;  // in x

  explicit Cut(const Shape& x) : shape(x), places(StridedView::of(x)) {}
  // Selects the indices begin, begin + step, ... of an axis.
  void take(Index axis, Index begin, Index count, Index step) {
    places.first += begin * places.steps[axis];
    places.steps[axis] *= step;
    shape[axis] = count;
  }
};

Cut one_range(const char* op, const Call& call, const Shape& x) {
  call.attributes.check(op, {"axis", "begin", "end"});
  const Index axis = axis_of(op, call.attributes.integer("axis", 0), x);
  const Index begin = call.attributes.integer("begin", 0);
  const Index end = call.attributes.integer("end", x[axis]);
  if (begin < 0 || begin > end || end > x[axis])
    fail_usage("{}: x {} has no range [{}, {}) along axis {}", op, to_string(x), begin, end, axis);
  Cut cut(x);
  cut.take(axis, begin, end - begin, 1);
  return cut;
}

// ONNX: negative indices count from the end, and indices outside are clamped.
Cut many_ranges(const char* op, const Call& call, const Shape& x) {
  call.attributes.check(op, {"begins", "ends", "axes", "steps"});
  check_inputs(op, call, 5);
  const std::vector<Index> begins = list_of(op, call, 1, "begins"),
                           ends = list_of(op, call, 2, "ends");
  std::vector<Index> axes = list_of(op, call, 3, "axes"), steps = list_of(op, call, 4, "steps");
  if (axes.empty())
    for (Index d = 0; d < std::ssize(begins); ++d) axes.push_back(d);
  if (steps.empty()) steps.assign(begins.size(), 1);
  const std::size_t n = begins.size();
  if (ends.size() != n || axes.size() != n || steps.size() != n)
    fail_usage("{}: begins {}, ends {}, axes {} and steps {} differ in length", op,
               to_string(begins), to_string(ends), to_string(axes), to_string(steps));
  axes_named(op, axes, x);
  Cut cut(x);
  for (std::size_t i = 0; i < n; ++i) {
    const Index axis = axis_of(op, axes[i], x), extent = x[axis];
    // Larger steps have the same effect.
    const Index step = std::clamp(steps[i], -extent - 1, extent + 1);
    if (steps[i] == 0) fail_usage("{}: the step along axis {} must not be 0", op, axes[i]);
    const bool is_back = step < 0;
    const auto within = [&](Index k) {
      return std::clamp<Index>(k < 0 ? k + extent : k, is_back ? -1 : 0,
                               is_back ? extent - 1 : extent);
    };
    // A start before the first element means the first one, in either direction.
    const Index begin = std::max<Index>(within(begins[i]), 0), end = within(ends[i]);
    const Index length = is_back ? begin - end : end - begin;
    const bool is_empty = length <= 0 || extent == 0;
    cut.take(axis, is_empty ? 0 : begin, is_empty ? 0 : ceil_div(length, std::abs(step)), step);
  }
  return cut;
}

Cut cut_of(const char* op, const Call& call, const Shape& x) {
  const bool has_inputs = call.in.size() > 1 || call.shapes.size() > 1;
  return has_inputs || call.attributes.has("begins") ? many_ranges(op, call, x)
                                                     : one_range(op, call, x);
}

Dense zeros_beside(const Dense& x, const Shape& shape) {
  return {shape, Values(x.dtype(), size_of(shape), x.device())};
}

Tensor slice(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  const Cut cut = cut_of("slice", call, x.extents);
  Dense y{cut.shape, Values::uninitialized(x.dtype(), size_of(cut.shape), x.device())};
  strided_copy(cut.shape, x.values, cut.places, y.values, StridedView::of(cut.shape));
  return y;
}

Tensor slice_grad(const Call& call) {
  const Dense& dy = call.in[0].as<Dense>();
  const Shape& shape = input_shape("slice.grad", call, 0);
  const Cut cut = cut_of("slice.grad", call, shape);
  check_gradient("slice.grad", dy, cut.shape);
  Dense dx = zeros_beside(dy, shape);
  strided_copy(cut.shape, dy.values, StridedView::of(cut.shape), dx.values, cut.places);
  return dx;
}

Outputs slice_scatter(const Call& call) {
  Tensor x = call.in[0];
  put_slice(x, call.in[1], call.attributes);
  return {std::move(x)};
}

Outputs slice_scatter_grad(const Call& call) {
  constexpr const char* op = "slice-scatter.grad";
  const Dense& dy = call.in[0].as<Dense>();
  const Shape& shape = input_shape(op, call, 0);
  const Cut cut = one_range(op, call, shape);
  check_gradient(op, dy, shape);
  Outputs out(2);
  if (call.wants(0)) {
    out[0] = dy;
    put_slice(*out[0], zeros_beside(dy, cut.shape), call.attributes);
  }
  if (call.wants(1)) {
    Dense dv{cut.shape, Values::uninitialized(dy.dtype(), size_of(cut.shape), dy.device())};
    strided_copy(cut.shape, dy.values, cut.places, dv.values, StridedView::of(cut.shape));
    out[1] = std::move(dv);
  }
  return out;
}

}  // namespace

void put_slice(Tensor& x, const Tensor& v, const Attributes& attributes) {
  constexpr const char* op = "slice-scatter";
  const Dense part = v.as<Dense>();
  const Shape shape = x.as<Dense>().extents;
  const Cut cut = one_range(op, {{}, {}, attributes}, shape);
  check_dtypes(op, "x", x.dtype(), "v", part.dtype());
  if (part.extents != cut.shape)
    fail_usage("{}: v is {} but the slice of x is {}", op, to_string(part.extents),
               to_string(cut.shape));
  const auto write = [&](Values& to) {
    strided_copy(cut.shape, part.values, StridedView::of(cut.shape), to, cut.places);
  };
  if (!x.overwrite(write)) x = Tensor::update(x, write);
}

void add_slices(Operators& all) {
  add_plain(all, "slice", SavedForBackward::others, slice, slice_grad, Runs::anywhere);
  all.declare("slice-scatter", {SavedForBackward::nothing});
  for (const Device device : {Device::cpu, Device::cuda}) {
    all.add({"slice-scatter", {"dense", "dense"}, {{}}, device}, slice_scatter);
    all.add({"slice-scatter.grad", {"dense"}, {{}, {}}, device}, slice_scatter_grad);
  }
}

}  // namespace sten
