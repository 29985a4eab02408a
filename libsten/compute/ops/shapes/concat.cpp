// SPDX-License-Identifier: Apache-2.0
// Concat: joins tensors of any dtype along an axis.
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/strided_copy.h"

namespace sten {
namespace {

// The shape of the result.
template <class Shapes>
Shape joined(const char* op, const Shapes& shapes, Index axis) {
  Shape all = shapes[0];
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    const Shape& s = shapes[i];
    bool fits = s.size() == all.size();
    for (Index d = 0; fits && d < std::ssize(s); ++d) fits = d == axis || s[d] == all[d];
    if (!fits)
      fail_usage("{}: shapes {} and {} cannot be concatenated along axis {}", op,
                 to_string(shapes[0]), to_string(s), axis);
    all[axis] += s[axis];
  }
  checked_size(all);
  return all;
}

// The part of a tensor from index `at` of the axis on.
StridedView from_index(const Shape& shape, Index axis, Index at) {
  StridedView part = StridedView::of(shape);
  part.first = at * part.steps[axis];
  return part;
}

Outputs concat(const Call& call) {
  call.attributes.check("concat", {"axis"});
  std::vector<Shape> shapes;
  for (const Tensor& t : call.in) {
    check_dtypes("concat", "one", call.in[0].dtype(), "another", t.dtype());
    shapes.push_back(t.as<Dense>().extents);
  }
  const Index axis = axis_of("concat", call.attributes.integer("axis", 0), shapes[0]);
  Shape shape = joined("concat", shapes, axis);
  Dense y{shape, Values::uninitialized(call.in[0].dtype(), size_of(shape), call.in[0].device())};
  Index at = 0;
  for (const Tensor& t : call.in) {
    const Dense& x = t.as<Dense>();
    strided_copy(x.extents, x.values, StridedView::of(x.extents), y.values,
                 from_index(shape, axis, at));
    at += x.extents[axis];
  }
  return {std::move(y)};
}

Outputs concat_grad(const Call& call) {
  const Dense& dy = call.in[0].as<Dense>();
  if (call.shapes.empty() || call.shapes.size() != call.formats.size())
    fail_usage("concat.grad: missing shapes of the operator's inputs");
  const Index axis = axis_of("concat.grad", call.attributes.integer("axis", 0), call.shapes[0]);
  check_gradient("concat.grad", dy, joined("concat.grad", call.shapes, axis));
  Outputs out(call.shapes.size());
  Index at = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Shape& shape = call.shapes[i];
    if (call.wants(i)) {
      Dense dx{shape, Values::uninitialized(dy.dtype(), size_of(shape), dy.device())};
      strided_copy(shape, dy.values, from_index(dy.extents, axis, at), dx.values,
                   StridedView::of(shape));
      out[i] = std::move(dx);
    }
    at += shape[axis];
  }
  return out;
}

}  // namespace

void add_concat(Operators& all) {
  all.declare("concat", {SavedForBackward::nothing});
  for (const Device device : {Device::cpu, Device::cuda}) {
    all.add({"concat", {"dense", any::more}, {{}}, device}, concat);
    all.add({"concat.grad", {"dense"}, {{}, {"", any::more}}, device}, concat_grad);
  }
}

}  // namespace sten
