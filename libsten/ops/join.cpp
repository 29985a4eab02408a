// Tensors of any dtype, joined along an axis and cut from one.
#include <algorithm>
#include <cstring>

#include "libsten/base/parallel.h"
#include "libsten/ops/check.h"
#include "libsten/ops/register.h"

namespace sten {
namespace {

std::byte* bytes_of(Values& v) {
  return with_width(v.width(),
                    [&]<class U>(U) { return reinterpret_cast<std::byte*>(v.mutate<U>().data()); });
}

// Indices [from, from + count) of an axis of x, to indices `at` and so on of a tensor with that
// many along the axis.
void copy_part(const Dense& x, Index axis, Index from, Index count, std::byte* to, Index extent,
               Index at) {
  Index outer = 1, inner = x.values.width();
  for (Index d = 0; d < axis; ++d) outer *= x.extents[d];
  for (Index d = axis + 1; d < std::ssize(x.extents); ++d) inner *= x.extents[d];
  const Index run = count * inner, had = x.extents[axis];
  if (run == 0) return;
  const std::byte* source = x.values.bytes().data();
  constexpr Index grain = Index{1} << 16;  // bytes
  parallel_for(outer, std::max<Index>(1, grain / run), [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      std::memcpy(to + (i * extent + at) * inner, source + (i * had + from) * inner, run);
  });
}

Dense part(const Dense& x, Index axis, Index begin, Index end) {
  Shape shape = x.extents;
  shape[axis] = end - begin;
  Values v = Values::uninitialized(x.dtype(), size_of(shape));
  copy_part(x, axis, begin, end - begin, bytes_of(v), end - begin, 0);
  return {std::move(shape), std::move(v)};
}

// The shape of what is joined of such shapes.
template <class Shapes>
Shape joined(const char* op, const Shapes& shapes, Index axis) {
  Shape all = shapes[0];
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    const Shape& s = shapes[i];
    bool fits = s.size() == all.size();
    for (Index d = 0; fits && d < std::ssize(s); ++d) fits = d == axis || s[d] == all[d];
    if (!fits)
      fail_usage("{}: {} and {} cannot be joined along axis {}", op, to_string(shapes[0]),
                 to_string(s), axis);
    all[axis] += s[axis];
  }
  checked_size(all);
  return all;
}

Outputs concat(const Call& call) {
  call.attributes.check("concat", {"axis"});
  if (call.in.empty()) fail_usage("concat: there is nothing to join");
  std::vector<Shape> shapes;
  for (const Tensor& t : call.in) {
    check_dtypes("concat", "one", call.in[0].dtype(), "another", t.dtype());
    shapes.push_back(t.as<Dense>().extents);
  }
  const Index axis = axis_of("concat", call.attributes.integer("axis", 0), shapes[0]);
  Shape shape = joined("concat", shapes, axis);
  Values v = Values::uninitialized(call.in[0].dtype(), size_of(shape));
  std::byte* to = bytes_of(v);
  Index at = 0;
  for (const Tensor& t : call.in) {
    const Dense& x = t.as<Dense>();
    copy_part(x, axis, 0, x.extents[axis], to, shape[axis], at);
    at += x.extents[axis];
  }
  return {Dense{std::move(shape), std::move(v)}};
}

Outputs concat_grad(const Call& call) {
  const Dense& dy = call.in[0].as<Dense>();
  if (call.shapes.empty() || call.shapes.size() != call.formats.size())
    fail_usage("concat.grad needs the shapes of the operator's inputs");
  const Index axis = axis_of("concat.grad", call.attributes.integer("axis", 0), call.shapes[0]);
  check_gradient("concat.grad", dy, joined("concat.grad", call.shapes, axis));
  Outputs out(call.shapes.size());
  Index at = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Index count = call.shapes[i][axis];
    if (call.wants(i)) out[i] = part(dy, axis, at, at + count);
    at += count;
  }
  return out;
}

struct Range {
  Index axis, begin, end;

  Range(const char* op, const Call& call, const Shape& x) {
    call.attributes.check(op, {"axis", "begin", "end"});
    axis = axis_of(op, call.attributes.integer("axis", 0), x);
    begin = call.attributes.integer("begin", 0);
    end = call.attributes.integer("end", x[axis]);
    if (begin < 0 || begin > end || end > x[axis])
      fail_usage("{}: x is {}, which has no range {} to {} along axis {}", op, to_string(x), begin,
                 end, axis);
  }
};

Outputs slice(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  const Range r("slice", call, x.extents);
  return {part(x, r.axis, r.begin, r.end)};
}

Outputs slice_grad(const Call& call) {
  if (!call.wants(0)) return {std::nullopt};
  const Dense& dy = call.in[0].as<Dense>();
  const Shape& shape = input_shape("slice.grad", call, 0);
  const Range r("slice.grad", call, shape);
  Shape y = shape;
  y[r.axis] = r.end - r.begin;
  check_gradient("slice.grad", dy, y);
  Dense dx = Dense::zeros(dy.dtype(), shape);
  copy_part(dy, r.axis, 0, r.end - r.begin, bytes_of(dx.values), shape[r.axis], r.begin);
  return {std::move(dx)};
}

}  // namespace

void add_joins(Operators& all) {
  all.declare("concat", {Keeps::nothing});
  all.add({"concat", {"dense", any::more}, {{}}}, concat);
  all.add({"concat.grad", {"dense"}, {{}, {"", any::more}}}, concat_grad);
  all.declare("slice", {Keeps::nothing});
  all.add({"slice", {"dense"}, {{}}}, slice);
  all.add({"slice.grad", {"dense"}, {{}}}, slice_grad);
}

}  // namespace sten
