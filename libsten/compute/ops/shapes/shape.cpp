// SPDX-License-Identifier: Apache-2.0
// Changes of shape and axes, for any dtype.

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/shapes/permute.h"

namespace sten {
namespace {

Shape resolved(const Shape& from, Shape to) {
  const Shape wanted = to;
  Index known = 1;
  std::ptrdiff_t open = -1;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (to[d] >= 0) continue;
    if (to[d] != -1 || open >= 0)
      fail_usage("reshape: the shape {} has more than one -1, or another negative extent",
                 to_string(wanted));
    open = static_cast<std::ptrdiff_t>(d);
    to[d] = 1;
  }
  known = checked_size(to);
  const Index n = size_of(from);
  if (open >= 0 && known > 0) to[open] = n / known;
  if ((open >= 0 && known == 0) || size_of(to) != n)
    fail_usage("reshape: x {} does not fit the shape {}", to_string(from), to_string(wanted));
  return to;
}

Shape reshaped(const Call& call, const Shape& x) {
  call.attributes.check("reshape", {"shape", "copy-zeros"});
  check_inputs("reshape", call, 2);
  if (!call.attributes.has("shape") && call.in.size() < 2)
    fail_usage("reshape: missing attribute 'shape'");
  Shape to = list_of("reshape", call, 1, "shape");
  if (call.attributes.integer("copy-zeros", 0))
    for (std::size_t d = 0; d < to.size(); ++d) {
      if (to[d] != 0) continue;
      if (d >= x.size())
        fail_usage("reshape: x {} has no extent for the 0 at axis {} of the shape {}", to_string(x),
                   d, to_string(to));
      to[d] = x[d];
    }
  return resolved(x, std::move(to));
}

Shape squeezed(const Call& call, const Shape& x) {
  call.attributes.check("squeeze", {"axes"});
  check_inputs("squeeze", call, 2);
  const std::vector<Index> axes = list_of("squeeze", call, 1, "axes");
  const std::vector<bool> named = axes_named("squeeze", axes, x);
  Shape y;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (named[d] && x[d] != 1)
      fail_usage("squeeze: axis {} of x {} must have extent 1", d, to_string(x));
    if (axes.empty() ? x[d] != 1 : !named[d]) y.push_back(x[d]);
  }
  return y;
}

Shape unsqueezed(const Call& call, const Shape& x) {
  call.attributes.check("unsqueeze", {"axes"});
  check_inputs("unsqueeze", call, 2);
  const std::vector<Index> axes = list_of("unsqueeze", call, 1, "axes");
  const std::vector<bool> named = axes_named("unsqueeze", axes, Shape(x.size() + axes.size(), 1));
  Shape y;
  std::size_t next = 0;
  for (const bool is_new : named) y.push_back(is_new ? 1 : x[next++]);
  return y;
}

Shape flattened(const Call& call, const Shape& x) {
  call.attributes.check("flatten", {"axis"});
  check_inputs("flatten", call, 1);
  const Index rank = std::ssize(x), axis = call.attributes.integer("axis", 1);
  const Index first = axis < 0 ? axis + rank : axis;
  if (first < 0 || first > rank) fail_usage("flatten: x {} has no axis {}", to_string(x), axis);
  return {size_of(Shape(x.begin(), x.begin() + first)), size_of(Shape(x.begin() + first, x.end()))};
}

// Registers an operator that only changes the shape, without a copy.
void add_reshaping(Operators& all, const char* op, Shape (*shape_of)(const Call&, const Shape&)) {
  add_plain(
      all, op, SavedForBackward::nothing,
      [shape_of](const Call& call) -> Tensor {
        const Dense& x = call.in[0].as<Dense>();
        return Dense{shape_of(call, x.extents), x.values};
      },
      [grad = std::string(op) + ".grad"](const Call& call) -> Tensor {
        const Dense& dy = call.in[0].as<Dense>();
        const Shape& shape = input_shape(grad, call, 0);
        if (dy.size() != size_of(shape))
          fail_usage("{}: the gradient is {} but the input is {}", grad, to_string(dy.extents),
                     to_string(shape));
        return Dense{shape, dy.values};
      },
      Runs::anywhere);
}

std::vector<Index> axes_of(const char* op, const Call& call, const Shape& x) {
  call.attributes.check(op, {"axes"});
  const Index rank = std::ssize(x);
  std::vector<Index> axes(rank);
  for (Index d = 0; d < rank; ++d) axes[d] = d;
  if (!call.attributes.has("axes")) {
    if (rank < 2) fail_usage("{}: x must have 2 or more axes, got {}", op, to_string(x));
    std::swap(axes[rank - 2], axes[rank - 1]);
    return axes;
  }
  const std::vector<Index> wanted = call.attributes.list("axes", {});
  std::vector<bool> seen(rank);
  bool is_permutation = std::ssize(wanted) == rank;
  for (std::size_t d = 0; is_permutation && d < wanted.size(); ++d) {
    axes[d] = axis_of(op, wanted[d], x);
    is_permutation = !seen[axes[d]];
    seen[axes[d]] = true;
  }
  if (!is_permutation)
    fail_usage("{}: axes must be a permutation of the axes of x {}, got {}", op, to_string(x),
               to_string(wanted));
  return axes;
}

Tensor transpose_grad(const Call& call) {
  const Dense& dy = call.in[0].as<Dense>();
  const Shape& shape = input_shape("transpose.grad", call, 0);
  const std::vector<Index> axes = axes_of("transpose.grad", call, shape);
  Shape y(axes.size());
  for (std::size_t d = 0; d < axes.size(); ++d) y[d] = shape[axes[d]];
  check_gradient("transpose.grad", dy, y);
  return permute(dy, inverse(axes));
}

}  // namespace

void add_shapes(Operators& all) {
  add_reshaping(all, "reshape", reshaped);
  add_reshaping(all, "squeeze", squeezed);
  add_reshaping(all, "unsqueeze", unsqueezed);
  add_reshaping(all, "flatten", flattened);
  add_plain(
      all, "transpose", SavedForBackward::nothing,
      [](const Call& call) -> Tensor {
        check_inputs("transpose", call, 1);
        const Dense& x = call.in[0].as<Dense>();
        return permute(x, axes_of("transpose", call, x.extents));
      },
      transpose_grad, Runs::anywhere);
}

}  // namespace sten
