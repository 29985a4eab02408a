// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/elementwise/comparison.h"

#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

using kernels::ComparedElements;

constexpr ComparisonRow rows[] = {
#define COMPARISON(id, op, onnx, operands, ...) \
  {kernels::Comparison::id, op, onnx, ComparedElements::operands == ComparedElements::truths},
#include "kernels/comparison.def"
#undef COMPARISON
};

template <class T>
using ComparisonLoop = void (*)(const Broadcast& repeated, Index begin, Index end, const T* a,
                                const T* b, std::uint8_t* to);
template <class F, class T>
void comparison_loop(const Broadcast& repeated, Index begin, Index end, const T* a, const T* b,
                     std::uint8_t* to) {
  repeated.each_pair(begin, end, a, b, [=](Index i, T x, T y) { to[i - begin] = F::value(x, y); });
}
template <class T>
Dense compared(const Shape& shape, const Dense& a, const Dense& b, ComparisonLoop<T> loop) {
  const Broadcast repeated(shape, a.extents, b.extents);
  const T *x = a.values.as<T>().data(), *y = b.values.as<T>().data();
  return dense_elements<std::uint8_t>(
      DType::BOOL, shape,
      [&](Index begin, Index end, std::uint8_t* to) { loop(repeated, begin, end, x, y, to); });
}

void check_truth(std::string_view op, std::string_view name, const Dense& x) {
  if (x.dtype() != DType::BOOL)
    fail_usage("{}: {} must be BOOL, got {}", op, name, name_of(x.dtype()));
}

Outputs compare(const ComparisonRow& row, const Call& call) {
  const Shape shape = check_comparison(row, call);
  Dense a = call.in[0].as<Dense>(), b = call.in[1].as<Dense>();
  const DType in = row.is_logical ? DType::BOOL : computed_in(row.name, a.dtype());
  if (!row.is_logical) {
    a = to_compute(row.name, a, in);
    b = to_compute(row.name, b, in);
  }
  Outputs out(1);
  kernels::with_formula(row.function, [&]<class F>(F) {
    if constexpr (F::elements == ComparedElements::truths)
      out[0] = compared<std::uint8_t>(shape, a, b, comparison_loop<F, std::uint8_t>);
    else
      with_computed(in,
                    [&]<class T>(T) { out[0] = compared<T>(shape, a, b, comparison_loop<F, T>); });
  });
  return out;
}

// A BOOL tensor of f(v) for each element v, stored as T.
template <class T, class F>
Outputs tested(const Dense& x, F f) {
  const T* from = x.values.as<T>().data();
  return {dense_elements<std::uint8_t>(DType::BOOL, x.extents,
                                       [&](Index begin, Index end, std::uint8_t* to) {
                                         for (Index i = begin; i < end; ++i)
                                           to[i - begin] = f(from[i]);
                                       })};
}
template <class F>
Outputs tested_floats(const char* op, const Dense& given, F f) {
  const Dense x = to_compute(op, given, computed_in(op, given.dtype()));
  return with_real(op, x.dtype(), [&]<class T>(T) { return tested<T>(x, f); });
}

Outputs is_nan(const Call& call) {
  call.attributes.check("is-nan", {});
  return tested_floats("is-nan", call.in[0].as<Dense>(),
                       [](auto v) { return kernels::unary_test::is_nan::value(v); });
}
Outputs is_inf(const Call& call) {
  const InfinityCall of(call);
  using namespace kernels::unary_test;
  return tested_floats("is-inf", call.in[0].as<Dense>(), [=](auto v) {
    return (of.negative && is_minus_inf::value(v)) || (of.positive && is_plus_inf::value(v));
  });
}
Outputs logical_not(const Call& call) {
  call.attributes.check("not", {});
  const Dense& x = call.in[0].as<Dense>();
  check_truth("not", "x", x);
  return tested<std::uint8_t>(x, kernels::unary_test::logical_not::value);
}

}  // namespace

std::span<const ComparisonRow> comparison_rows() { return rows; }

Shape check_comparison(const ComparisonRow& row, const Call& call) {
  call.attributes.check(row.name, {});
  const Dense &a = call.in[0].as<Dense>(), &b = call.in[1].as<Dense>();
  if (row.is_logical) {
    check_truth(row.name, "a", a);
    check_truth(row.name, "b", b);
  }
  check_dtypes(row.name, "a", a.dtype(), "b", b.dtype());
  return broadcast_shape(row.name, a.extents, b.extents);
}

void add_comparisons(Operators& all) {
  for (const ComparisonRow& row : rows)
    all.add({row.name, {"dense", "dense"}, {{}}},
            [&row](const Call& call) { return compare(row, call); });
  all.add({"is-nan", {"dense"}, {{}}}, is_nan);
  all.add({"is-inf", {"dense"}, {{}}}, is_inf);
  all.add({"not", {"dense"}, {{}}}, logical_not);
}

}  // namespace sten
