// Elementwise comparisons and logic. Results are BOOL, without a gradient.
#include "libsten/compute/ops/elementwise/compare.h"

#include <cmath>

#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

template <class T>
using TruthKernel = void (*)(const Broadcast& repeated, Index begin, Index end, const T* a,
                             const T* b, std::uint8_t* to);
template <class T, class F>
void each_truth(const Broadcast& repeated, Index begin, Index end, const T* a, const T* b,
                std::uint8_t* to) {
  repeated.each_pair(begin, end, a, b, [=](Index i, T x, T y) { to[i - begin] = F{}(x, y); });
}

struct CompareRow {
  const char* name;
  const char* swapped;  // the same for b and a
  ByType<TruthKernel> kernels;
};
template <class F>
constexpr CompareRow compare_row(const char* name, const char* swapped, F) {
  return {
      name, swapped, {each_truth<float, F>, each_truth<double, F>, each_truth<std::int64_t, F>}};
}
// NaN compares false with everything.
constexpr CompareRow compare_rows[] = {
    compare_row("equal", nullptr, [](auto a, auto b) { return a == b; }),
    compare_row("less", "greater", [](auto a, auto b) { return a < b; }),
    compare_row("less-or-equal", "greater-or-equal", [](auto a, auto b) { return a <= b; }),
};

struct LogicRow {
  const char* name;
  TruthKernel<std::uint8_t> kernel;
};
template <class F>
constexpr LogicRow logic_row(const char* name, F) {
  return {name, each_truth<std::uint8_t, F>};
}
constexpr LogicRow logic_rows[] = {
    logic_row("and", [](auto a, auto b) { return a != 0 && b != 0; }),
    logic_row("or", [](auto a, auto b) { return a != 0 || b != 0; }),
    logic_row("xor", [](auto a, auto b) { return (a != 0) != (b != 0); }),
};

template <class T>
Tensor truths(const Shape& shape, const Dense& a, const Dense& b, TruthKernel<T> kernel) {
  const Broadcast repeated(shape, a.extents, b.extents);
  const T *x = a.values.as<T>().data(), *y = b.values.as<T>().data();
  return dense_elements<std::uint8_t>(
      DType::BOOL, shape,
      [&](Index begin, Index end, std::uint8_t* to) { kernel(repeated, begin, end, x, y, to); });
}

void check_truth(const char* op, std::string_view name, const Dense& x) {
  if (x.dtype() != DType::BOOL)
    fail_usage("{}: {} must be BOOL, got {}", op, name, name_of(x.dtype()));
}

void add_compare(Operators& all, const CompareRow& row, const char* op, bool is_swapped) {
  all.add({op, {"dense", "dense"}, {{}}}, [&row, op, is_swapped](const Call& call) -> Outputs {
    const Shape shape = check_comparison(op, false, call);
    const Dense &a = call.in[0].as<Dense>(), &b = call.in[1].as<Dense>();
    const DType in = computed_in(op, a.dtype());
    const Dense x = to_compute(op, a, in), y = to_compute(op, b, in);
    return with_computed(in, [&]<class T>(T) -> Outputs {
      return {truths<T>(shape, is_swapped ? y : x, is_swapped ? x : y, row.kernels.of<T>())};
    });
  });
}

// A BOOL tensor of f(v) for each element v; f = make(call), whose tests are of floats.
template <class Make>
void add_float_test(Operators& all, const char* op, Make make) {
  all.add({op, {"dense"}, {{}}}, [op, make](const Call& call) -> Outputs {
    const auto f = make(call);
    const Dense& given = call.in[0].as<Dense>();
    const Dense x = to_compute(op, given, computed_in(op, given.dtype()));
    return with_real(op, x.dtype(), [&]<class T>(T) -> Outputs {
      const T* from = x.values.as<T>().data();
      return {dense_elements<std::uint8_t>(DType::BOOL, x.extents,
                                           [&](Index begin, Index end, std::uint8_t* to) {
                                             for (Index i = begin; i < end; ++i)
                                               to[i - begin] = f(from[i]);
                                           })};
    });
  });
}

}  // namespace

Shape check_comparison(const char* op, bool is_logic, const Call& call) {
  call.attributes.check(op, {});
  const Dense &a = call.in[0].as<Dense>(), &b = call.in[1].as<Dense>();
  if (is_logic) {
    check_truth(op, "a", a);
    check_truth(op, "b", b);
  }
  check_dtypes(op, "a", a.dtype(), "b", b.dtype());
  return broadcast_shape(op, a.extents, b.extents);
}

void add_comparisons(Operators& all) {
  add_float_test(all, "is-nan", [](const Call& call) {
    call.attributes.check("is-nan", {});
    return [](auto v) { return std::isnan(v); };
  });
  add_float_test(all, "is-inf", [](const Call& call) {
    const InfinityCall of(call);
    return [=](auto v) { return std::isinf(v) && (v < 0 ? of.negative : of.positive); };
  });
  for (const CompareRow& row : compare_rows) {
    add_compare(all, row, row.name, false);
    if (row.swapped) add_compare(all, row, row.swapped, true);
  }
  for (const LogicRow& row : logic_rows)
    all.add({row.name, {"dense", "dense"}, {{}}}, [&row](const Call& call) -> Outputs {
      const Shape shape = check_comparison(row.name, true, call);
      return {truths(shape, call.in[0].as<Dense>(), call.in[1].as<Dense>(), row.kernel)};
    });
  all.add({"not", {"dense"}, {{}}}, [](const Call& call) -> Outputs {
    call.attributes.check("not", {});
    const Dense& x = call.in[0].as<Dense>();
    check_truth("not", "x", x);
    const std::uint8_t* from = x.values.as<std::uint8_t>().data();
    return {dense_elements<std::uint8_t>(DType::BOOL, x.extents,
                                         [&](Index begin, Index end, std::uint8_t* to) {
                                           for (Index i = begin; i < end; ++i)
                                             to[i - begin] = from[i] == 0;
                                         })};
  });
}

}  // namespace sten
