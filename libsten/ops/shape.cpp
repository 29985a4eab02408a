// Shapes and axes of tensors of any dtype.
#include <algorithm>

#include "libsten/ops/check.h"
#include "libsten/ops/output.h"
#include "libsten/ops/permute.h"
#include "libsten/ops/register.h"

namespace sten {
namespace {

void add_dense(Operators& all, Name op, Implementation run) {
  all.add({op, {"dense"}, {{}}}, std::move(run));
}

Shape resolved(const Shape& from, Shape to) {
  const Shape wanted = to;
  Index known = 1;
  std::ptrdiff_t open = -1;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (to[d] >= 0) continue;
    if (to[d] != -1 || open >= 0)
      fail_usage("reshape: the shape {} has more than one extent to be found, or a negative one",
                 to_string(wanted));
    open = static_cast<std::ptrdiff_t>(d);
    to[d] = 1;
  }
  known = checked_size(to);
  const Index n = size_of(from);
  if (open >= 0 && known > 0) to[open] = n / known;
  if ((open >= 0 && known == 0) || size_of(to) != n)
    fail_usage("reshape: x is {}, which does not fit the shape {}", to_string(from),
               to_string(wanted));
  return to;
}

void add_reshape(Operators& all) {
  all.declare("reshape", {Keeps::nothing});
  add_dense(all, "reshape", [](const Call& call) -> Outputs {
    call.attributes.check("reshape", {"shape"});
    if (!call.attributes.has("shape")) fail_usage("reshape needs the attribute 'shape'");
    const Dense& x = call.in[0].as<Dense>();
    return {Dense{resolved(x.extents, call.attributes.list("shape", {})), x.values}};
  });
  add_dense(all, "reshape.grad", [](const Call& call) -> Outputs {
    if (!call.wants(0)) return {std::nullopt};
    const Dense& dy = call.in[0].as<Dense>();
    const Shape& shape = input_shape("reshape.grad", call, 0);
    check_gradient("reshape.grad", dy, resolved(shape, call.attributes.list("shape", {})));
    return {Dense{shape, dy.values}};
  });
}

std::vector<Index> axes_of(const char* op, const Call& call, const Shape& x) {
  call.attributes.check(op, {"axes"});
  const Index rank = std::ssize(x);
  std::vector<Index> axes(rank);
  for (Index d = 0; d < rank; ++d) axes[d] = d;
  if (!call.attributes.has("axes")) {
    if (rank < 2) fail_usage("{}: x is {} and has no two axes to exchange", op, to_string(x));
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
    fail_usage("{}: the axes {} are no permutation of those of {}", op, to_string(wanted),
               to_string(x));
  return axes;
}

void add_transpose(Operators& all) {
  all.declare("transpose", {Keeps::nothing});
  add_dense(all, "transpose", [](const Call& call) -> Outputs {
    const Dense& x = call.in[0].as<Dense>();
    return {permute(x, axes_of("transpose", call, x.extents))};
  });
  add_dense(all, "transpose.grad", [](const Call& call) -> Outputs {
    if (!call.wants(0)) return {std::nullopt};
    const Dense& dy = call.in[0].as<Dense>();
    const Shape& shape = input_shape("transpose.grad", call, 0);
    const std::vector<Index> axes = axes_of("transpose.grad", call, shape);
    std::vector<Index> back(axes.size());
    Shape y(axes.size());
    for (std::size_t d = 0; d < axes.size(); ++d) {
      back[axes[d]] = static_cast<Index>(d);
      y[d] = shape[axes[d]];
    }
    check_gradient("transpose.grad", dy, y);
    return {permute(dy, back)};
  });
}

}  // namespace

void add_shapes(Operators& all) {
  add_reshape(all);
  add_transpose(all);
}

}  // namespace sten
