// SPDX-License-Identifier: Apache-2.0
// Constants from scalars and shapes.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/strided_copy.h"

namespace sten {
namespace {

// Values from a start, by a step, before a limit, which are scalars of F32, F64, I64 or I32.
Tensor range(const Call& call) {
  call.attributes.check("range", {});
  if (call.in.size() != 3)
    fail_usage("range: expected 3 inputs (start, limit, step), got {}", call.in.size());
  for (const Tensor& t : call.in) {
    check_dtypes("range", "the start", call.in[0].dtype(), "another input", t.dtype());
    if (t.as<Dense>().size() != 1)
      fail_usage("range: inputs must be scalars, got shape {}", to_string(t.shape()));
  }
  const auto numbers = [&]<class T>(T) -> Tensor {
    const auto of = [&](std::size_t i) { return call.in[i].as<Dense>().values.as<T>()[0]; };
    const T start = of(0), limit = of(1), step = of(2);
    const double steps = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                   static_cast<double>(step));
    constexpr double most = 1e15;
    if (step == 0 || !(steps < most))
      fail_usage("range: a range from {} to {} with the step {} is not finite", start, limit, step);
    const Index n = std::max<Index>(0, static_cast<Index>(std::max(steps, -1.0)));
    Dense y{{n}, Values::uninitialized(call.in[0].dtype(), n)};
    T* to = y.values.mutate<T>().data();
    // Integers are unsigned in Sum, since a difference can overflow T.
    using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
    for (Index i = 0; i < n; ++i)
      to[i] =
          static_cast<T>(static_cast<Sum>(start) + static_cast<Sum>(i) * static_cast<Sum>(step));
    return y;
  };
  if (call.in[0].dtype() == DType::I64) return numbers(std::int64_t{});
  if (call.in[0].dtype() == DType::I32) return numbers(std::int32_t{});
  return with_real("range", call.in[0].dtype(), numbers);
}

// Inputs: the shape, and optionally the value, one element of any dtype. Default: an F32 zero.
Tensor constant_of_shape(const Call& call) {
  constexpr const char* op = "constant-of-shape";
  call.attributes.check(op, {});
  check_inputs(op, call, 2);
  const Shape shape = list_of(op, call, 0, "shape");
  checked_size(shape);
  if (call.in.size() < 2) return Dense::zeros(DType::F32, shape);
  const Dense& value = call.in[1].as<Dense>();
  if (value.size() != 1)
    fail_usage("{}: the value must be a scalar, got shape {}", op, to_string(value.extents));
  Dense y{shape, Values::uninitialized(value.dtype(), size_of(shape))};
  strided_copy(shape, value.values, {0, std::vector<Index>(shape.size())}, y.values,
               StridedView::of(shape));
  return y;
}

Tensor numbers_of(Shape shape, const std::vector<Index>& v) {
  Dense y{std::move(shape), Values::uninitialized(DType::I64, std::ssize(v))};
  std::ranges::copy(v, y.values.mutate<std::int64_t>().begin());
  return y;
}

Outputs shape(const Call& call) {
  call.attributes.check("shape", {"begin", "end"});
  const Shape x = call.in[0].shape();
  const Index rank = std::ssize(x);
  const auto within = [&](Index k) { return std::clamp<Index>(k < 0 ? k + rank : k, 0, rank); };
  const Index begin = within(call.attributes.integer("begin", 0));
  const Index end = std::max(begin, within(call.attributes.integer("end", rank)));
  return {numbers_of({end - begin}, {x.begin() + begin, x.begin() + end})};
}

Outputs size(const Call& call) {
  call.attributes.check("size", {});
  return {numbers_of({}, {size_of(call.in[0].shape())})};
}

}  // namespace

void add_constants(Operators& all) {
  add_plain(all, "range", SavedForBackward::nothing, range);
  add_plain(all, "constant-of-shape", SavedForBackward::nothing, constant_of_shape);
  // These operators read no values, so any layout is supported.
  all.declare("shape", {SavedForBackward::nothing});
  all.add({"shape", {any::layout}, {{}}}, shape);
  all.declare("size", {SavedForBackward::nothing});
  all.add({"size", {any::layout}, {{}}}, size);
}

}  // namespace sten
