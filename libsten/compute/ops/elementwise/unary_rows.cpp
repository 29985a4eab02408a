// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/elementwise/unary_rows.h"

#include <algorithm>
#include <limits>

#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/float_map.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/elementwise/unary.h"

namespace sten {
namespace {

void gelu_grad(const float* dy, const float* x, Index n, float* dx) {
  kernels::functions().gelu_grad(dy, x, n, dx);
}
template <class Gate>
void gated_grad(const float* dy, const float* x, Index n, float* dx) {
  constexpr Index at_once = 512;
  float share[at_once];
  for (Index i = 0; i < n; i += at_once) {
    const Index count = std::min(at_once, n - i);
    for (Index k = 0; k < count; ++k) share[k] = Gate::exponent(x[i + k]);
    kernels::functions().sigmoid(share, count, share);
    for (Index k = 0; k < count; ++k)
      dx[i + k] = kernels::unary::gated_grad<Gate>(dy[i + k], x[i + k], share[k]);
  }
}

namespace unary_table {

using enum SavedForBackward;
using enum UnaryElements;
using Table = kernels::FunctionsTable;
constexpr double infinity = std::numeric_limits<double>::infinity();

#define UNARY_TRAITS(...) __VA_ARGS__
constexpr UnaryRow all[] = {
#define UNARY(id, traits, ...) {.function = kernels::UnaryFunction::id, UNARY_TRAITS traits},
#include "kernels/unary.def"
#undef UNARY
};
#undef UNARY_TRAITS

}  // namespace unary_table

template <class T>
struct UnaryFormula {
  using Parameters = kernels::UnaryParameters<T>;
  void (*f)(Parameters p, const T* x, Index n, T* y) = nullptr;
  // saved: x or y, whichever the operator saves for backward.
  void (*g)(Parameters p, const T* dy, const T* saved, Index n, T* dx) = nullptr;
};

template <class T, class F>
void each_unary_value(kernels::UnaryParameters<T> p, const T* x, Index n, T* y) {
  for (Index i = 0; i < n; ++i) y[i] = F::value(x[i], p);
}
template <class T, class F>
void each_unary_grad(kernels::UnaryParameters<T> p, const T* dy, const T* saved, Index n, T* dx) {
  for (Index i = 0; i < n; ++i) dx[i] = F::grad(dy[i], saved[i], p);
}
template <class F, kernels::UnaryFunction f>
constexpr ByType<UnaryFormula> formula() {
  ByType<UnaryFormula> all{{each_unary_value<float, F>, each_unary_grad<float, F>},
                           {each_unary_value<double, F>, each_unary_grad<double, F>}};
  if constexpr (unary_table::all[static_cast<int>(f)].elements == UnaryElements::numbers)
    all.i64.f = each_unary_value<std::int64_t, F>;
  return all;
}
constexpr ByType<UnaryFormula> formulas[] = {
#define UNARY(id, ...) formula<kernels::unary::id, kernels::UnaryFunction::id>(),
#include "kernels/unary.def"
#undef UNARY
};

// f and its gradient, with attributes.
template <class T>
struct Unary {
  const UnaryRow& row;
  kernels::UnaryParameters<T> p;

  Unary(const UnaryRow& r, const Attributes& given) : row(r), p(r.parameters<T>(given)) {}
  const UnaryFormula<T>& formula() const {
    return formulas[static_cast<int>(row.function)].of<T>();
  }
};
template <class T>
struct UnaryForward : Unary<T> {
  void run(const T* x, Index n, T* y) const {
    if constexpr (std::same_as<T, float>)
      if (this->row.forward) return (kernels::functions().*this->row.forward)(x, n, y);
    this->formula().f(this->p, x, n, y);
  }
};
template <class T>
struct UnaryBackward : Unary<T> {
  void run(const T* dy, const T* saved, Index n, T* dx) const {
    if constexpr (std::same_as<T, float>)
      if (this->row.backward) return this->row.backward(dy, saved, n, dx);
    this->formula().g(this->p, dy, saved, n, dx);
  }
};

// Dense to dense, for all dtypes of the row.
Outputs run_row(const UnaryRow& row, const Call& call) {
  const Dense& given = call.in[0].as<Dense>();
  const DType in = computed_in(row.name, given.dtype());
  if (in == DType::I64 && row.elements != UnaryElements::numbers)
    fail_usage("{}: elements must be F32 or F64, got {}", row.name, name_of(given.dtype()));
  const Dense x = to_compute(row.name, given, in);
  return with_computed(in, [&]<class T>(T) -> Outputs {
    const T* from = x.values.as<T>().data();
    const UnaryForward<T> f{{row, call.attributes}};
    const Dense y = dense_elements<T>(in, x.extents, [&](Index begin, Index end, T* to) {
      f.run(from + begin, end - begin, to);
    });
    return {Dense{y.extents, as_dtype(row.name, y.values, given.dtype())}};
  });
}

}  // namespace

void UnaryRow::check(const Attributes& given) const {
  if (a.name.empty()) return given.check(name, {});
  if (b.name.empty()) return given.check(name, {a.name});
  given.check(name, {a.name, b.name});
}

std::span<const UnaryRow> unary_rows() { return unary_table::all; }

const UnaryRow* find_unary_row(std::string_view op) {
  for (const UnaryRow& row : unary_table::all)
    if (op == row.name) return &row;
  return nullptr;
}

FloatMap float_map(std::string_view op, const Attributes& attributes) {
  const UnaryRow* row = find_unary_row(op);
  if (!row) return {};
  try {
    const UnaryForward<float> f{{*row, attributes}};
    return [f](const float* x, Index n, float* y) { f.run(x, n, y); };
  } catch (const Error&) {
    return {};  // the operator reports the error
  }
}

void add_unary_rows(Operators& all) {
  for (const UnaryRow& row : unary_table::all) {
    add_unary(all, row.name, row.saves, row.is_zero_at_zero, [&row]<class T>(T, const Call& call) {
      return std::pair(UnaryForward<T>{{row, call.attributes}},
                       UnaryBackward<T>{{row, call.attributes}});
    });
    if (row.elements != UnaryElements::f32_f64)
      all.add({row.name, {"dense"}, {{}}}, [&row](const Call& call) { return run_row(row, call); });
  }
}

}  // namespace sten
