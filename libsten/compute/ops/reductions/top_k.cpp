// SPDX-License-Identifier: Apache-2.0
// Largest elements of rows: arg-max, arg-min, hardmax, top-k.
#include <algorithm>
#include <numeric>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/reductions/rows.h"

namespace sten {
namespace {

// Calls f(T{}) for ordered dtypes.
template <class F>
decltype(auto) with_ordered(std::string_view op, DType dtype, F&& f) {
  if (dtype == DType::I64) return f(std::int64_t{});
  if (dtype == DType::I32) return f(std::int32_t{});
  return with_real(op, dtype, f);
}

// Whether a precedes b; NaN precedes all.
template <class T>
bool goes_before(T a, T b, bool is_largest) {
  if (a != a || b != b) return a != a && b == b;
  return is_largest ? a > b : a < b;
}

template <class T>
Index first_of(const T* x, Index n, bool is_largest, bool takes_last) {
  Index at = 0;
  for (Index i = 1; i < n; ++i)
    if (takes_last ? !goes_before(x[at], x[i], is_largest) : goes_before(x[i], x[at], is_largest))
      at = i;
  return at;
}

Tensor arg(const char* op, bool is_largest, const Call& call) {
  call.attributes.check(op, {"axis", "keep", "last"});
  check_inputs(op, call, 1);
  const Dense& x = call.in[0].as<Dense>();
  const Index axis = axis_of(op, call.attributes.integer("axis", 0), x.extents);
  const bool takes_last = call.attributes.integer("last", 0) != 0;
  const Rows lines(x, axis);
  const Index n = lines.length;
  if (n == 0) fail_usage("{}: axis {} of x {} is empty", op, axis, to_string(x.extents));
  Shape shape = x.extents;
  shape[axis] = 1;
  if (!call.attributes.integer("keep", 0)) shape.erase(shape.begin() + axis);
  Dense y{std::move(shape), Values::uninitialized(DType::I64, lines.rows)};
  std::int64_t* to = y.values.mutate<std::int64_t>().data();
  with_ordered(op, x.dtype(), [&]<class T>(T) {
    const T* from = lines.x.values.as<T>().data();
    lines.each([&](Index i) { to[i] = first_of(from + i * n, n, is_largest, takes_last); });
  });
  return y;
}

// 1 at the first maximum of each row, else 0.
Tensor hardmax(const Call& call) {
  call.attributes.check("hardmax", {"axis"});
  check_inputs("hardmax", call, 1);
  const Dense& x = call.in[0].as<Dense>();
  const Rows lines(x, axis_of("hardmax", call.attributes.integer("axis", -1), x.extents));
  Values v(x.dtype(), x.size());
  with_real("hardmax", x.dtype(), [&]<class T>(T) {
    const T* from = lines.x.values.as<T>().data();
    T* to = v.mutate<T>().data();
    const Index n = lines.length;
    if (n > 0) lines.each([&](Index i) { to[i * n + first_of(from + i * n, n, true, false)] = 1; });
  });
  return lines.back(std::move(v));
}

// The offsets of the first k of each row, in the order of top-k.
struct Top {
  Index axis, k;
  Rows lines;
  std::vector<std::int64_t> at;

  Top(const char* op, const Call& call, const Dense& x)
      : axis(axis_of(op, call.attributes.integer("axis", -1), x.extents)),
        k(integer_of(op, call, 1, "k", 1)),
        lines(x, axis) {
    call.attributes.check(op, {"axis", "k", "largest"});
    const Index n = lines.length;
    if (k < 0 || k > n)
      fail_usage("{}: axis {} of x {} does not have k={} elements", op, axis, to_string(x.extents),
                 k);
    const bool is_largest = call.attributes.integer("largest", 1) != 0;
    at.resize(lines.rows * k);
    with_ordered(op, x.dtype(), [&]<class T>(T) {
      const T* from = lines.x.values.as<T>().data();
      lines.each([&](Index i) {
        const T* row = from + i * n;
        std::vector<std::int64_t> order(n);
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + k, order.end(),
                          [=](std::int64_t a, std::int64_t b) {
                            if (goes_before(row[a], row[b], is_largest)) return true;
                            return a < b && !goes_before(row[b], row[a], is_largest);
                          });
        std::copy_n(order.begin(), k, at.begin() + i * k);
      });
    });
  }
};

Tensor top_indices(const Call& call) {
  check_inputs("top-k-indices", call, 2);
  const Top top("top-k-indices", call, call.in[0].as<Dense>());
  Values v = Values::uninitialized(DType::I64, std::ssize(top.at));
  std::ranges::copy(top.at, v.mutate<std::int64_t>().begin());
  return top.lines.back(std::move(v), top.k);
}

Tensor top_values(const Call& call) {
  check_inputs("top-k", call, 2);
  const Top top("top-k", call, call.in[0].as<Dense>());
  Values v = Values::uninitialized(call.in[0].dtype(), std::ssize(top.at));
  with_width(v.width(), [&]<class U>(U) {
    const U* x = top.lines.x.values.as<U>().data();
    U* to = v.mutate<U>().data();
    for (Index i = 0; i < std::ssize(top.at); ++i)
      to[i] = x[i / top.k * top.lines.length + top.at[i]];
  });
  return top.lines.back(std::move(v), top.k);
}

Tensor top_grad(const Call& call) {
  const Dense &dy = call.in[0].as<Dense>(), &x = call.in[1].as<Dense>();
  const Top top("top-k.grad", call, x);
  Shape shape = x.extents;
  shape[top.axis] = top.k;
  check_gradient("top-k.grad", dy, shape);
  return with_real("top-k.grad", dy.dtype(), [&]<class T>(T) -> Tensor {
    const Rows lines(dy, top.axis);
    const T* from = lines.x.values.as<T>().data();
    Values dx(dy.dtype(), x.size());
    T* to = dx.mutate<T>().data();
    for (Index i = 0; i < std::ssize(top.at); ++i)
      to[i / top.k * top.lines.length + top.at[i]] = from[i];
    return top.lines.back(std::move(dx));
  });
}

}  // namespace

void add_top_k(Operators& all) {
  add_plain(all, "arg-max", SavedForBackward::nothing,
            [](const Call& call) { return arg("arg-max", true, call); });
  add_plain(all, "arg-min", SavedForBackward::nothing,
            [](const Call& call) { return arg("arg-min", false, call); });
  add_plain(all, "hardmax", SavedForBackward::nothing, hardmax);
  add_plain(all, "top-k", SavedForBackward::inputs, top_values, top_grad);
  add_plain(all, "top-k-indices", SavedForBackward::nothing, top_indices);
}

}  // namespace sten
