// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/elementwise/in_place.h"

#include <algorithm>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/shapes/slice.h"
#include "libsten/core/sparsify/same_pattern.h"

namespace sten {
namespace {

// Calls f(T*, begin, end) on ranges of the values of x, in place if x is not shared.
template <class F>
void write_values(const char* op, Tensor& x, F&& f) {
  with_real(op, x.dtype(), [&]<class T>(T) {
    const auto write = [&](Values& v) {
      T* to = v.mutate<T>().data();
      parallel_for(v.size(), Index{1} << 14, [&](Index begin, Index end) { f(to, begin, end); });
    };
    if (!x.overwrite(write)) x = Tensor::update(x, write);
  });
}

// Whether the values are in CPU memory; otherwise operators make a new tensor.
bool has_numbers(const Tensor& x) { return x.values() && x.device() == Device::cpu; }

// The result of an operator at the positions of x, in x's layout.
Tensor in_format_of(const Tensor& x, Name op, std::span<const Tensor> in,
                    const Attributes& attributes = {}) {
  const OutFormat format = OutFormat::same_as(x);
  const OutFormat* formats[] = {&format};
  const OutHints hints{.like = &x};
  return *std::move(run(op, {in, formats, attributes, {}, std::span(&hints, 1)}).front());
}

Attributes range(Index axis, Index begin, Index end) {
  return Attributes().set("axis", axis).set("begin", begin).set("end", end);
}

void write_in_place(Name op, Tensor& x, std::span<const Tensor> others,
                    const Attributes& attributes) {
  std::vector<Tensor> in{x};
  in.insert(in.end(), others.begin(), others.end());
  Tensor y = in_format_of(x, op, in, attributes);
  if (y.shape() != x.shape() || y.dtype() != x.dtype())
    fail_usage("{}_: x is {} {} but the result is {} {}", op.text(), name_of(x.dtype()),
               to_string(x.shape()), name_of(y.dtype()), to_string(y.shape()));
  x = std::move(y);
}

void write_slice(Tensor& x, const Tensor& v, const Attributes& where) {
  if (x.is<Dense>() && v.is<Dense>()) return put_slice(x, v, where);
  write_in_place("slice-scatter", x, {&v, 1}, where);
}

// y at the positions of x, in x's layout.
Tensor at_positions_of(const Tensor& x, const Tensor& y) {
  const Mask positions = x.stored();
  return sparsify(y.to_dense(), SamePattern{}, x.spec(), {.pattern = &positions});
}

// Whether y has the last axes of x and is broadcast along the others.
bool repeats_rows(const Shape& y, const Shape& x) {
  return y.size() <= x.size() && std::ranges::equal(y, std::span(x).last(y.size()));
}

}  // namespace

void relu_(Tensor& x) {
  if (!has_numbers(x)) {
    x = in_format_of(x, "relu", std::span(&x, 1));
    return;
  }
  write_values("relu_", x, [](auto* v, Index begin, Index end) {
    for (Index i = begin; i < end; ++i) v[i] = v[i] <= 0 ? 0 : v[i];  // NaN passes through
  });
}

void scale_(Tensor& x, double by) {
  if (!has_numbers(x)) {
    x = in_format_of(x, "scale", std::span(&x, 1), Attributes().set("by", by));
    return;
  }
  write_values("scale_", x, [by]<class T>(T* v, Index begin, Index end) {
    for (Index i = begin; i < end; ++i) v[i] *= static_cast<T>(by);
  });
}

void add_(Tensor& x, const Tensor& y) {
  if (!x.is<Dense>()) {
    if (y.shape() != x.shape())
      fail_usage("add_: x is {} but y is {} (sparse tensors are not broadcast)",
                 to_string(x.shape()), to_string(y.shape()));
    const Tensor terms[] = {x, at_positions_of(x, y)};
    x = in_format_of(x, "add", terms);
    return;
  }
  const bool is_here = y.is<Dense>() && has_numbers(x) && has_numbers(y);
  if (!is_here || !repeats_rows(y.shape(), x.shape()) || y.values()->size() == 0) {
    Tensor sum = add(x, y);
    if (sum.shape() != x.shape())
      fail_usage("add_: y is {}, which cannot be broadcast to x {}", to_string(y.shape()),
                 to_string(x.shape()));
    x = std::move(sum);
    return;
  }
  check_dtypes("add_", "x", x.dtype(), "y", y.dtype());
  const Values& terms = *y.values();
  const Index period = terms.size();
  write_values("add_", x, [&]<class T>(T* v, Index begin, Index end) {
    const T* from = terms.as<T>().data();
    for (Index i = begin, k = begin % period; i < end; ++i) {
      v[i] += from[k];
      if (++k == period) k = 0;
    }
  });
}

void relu_(Var& x) {
  apply_in_place("relu", x, {}, {}, [](Tensor& t) { relu_(t); });
}

void scale_(Var& x, double by) {
  apply_in_place("scale", x, {}, Attributes().set("by", by), [by](Tensor& t) { scale_(t, by); });
}

void add_(Var& x, const Var& y) {
  const Var others[] = {y};
  apply_in_place("add", x, others, {}, [&](Tensor& t) { add_(t, others[0].value()); });
}

void apply_in_place(Name op, Tensor& x, std::initializer_list<Tensor> others,
                    const Attributes& attributes) {
  write_in_place(op, x, others, attributes);
}

void apply_in_place(Name op, Var& x, std::initializer_list<Var> others,
                    const Attributes& attributes) {
  std::vector<Tensor> values;
  for (const Var& v : others) values.push_back(v.value());
  apply_in_place(op, x, std::span(others.begin(), others.size()), attributes,
                 [&](Tensor& t) { write_in_place(op, t, values, attributes); });
}

void slice_scatter_(Tensor& x, const Tensor& v, Index axis, Index begin, Index end) {
  write_slice(x, v, range(axis, begin, end));
}

void slice_scatter_(Var& x, const Var& v, Index axis, Index begin, Index end) {
  const Var others[] = {v};
  const Attributes where = range(axis, begin, end);
  apply_in_place("slice-scatter", x, others, where,
                 [&](Tensor& t) { write_slice(t, others[0].value(), where); });
}

}  // namespace sten
