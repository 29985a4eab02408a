// SPDX-License-Identifier: Apache-2.0
// Reductions other than sum and mean. Reduced axes are gathered to lines, each of which gives one
// value, computed in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/sum_axes.h"
#include "libsten/compute/ops/reductions/reduction.h"
#include "libsten/compute/ops/reductions/rows.h"

namespace sten {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The maximum, or NaN if there is one; with sign -1 the minimum.
template <class T>
double extreme(const T* x, Index n, double sign) {
  double most = -infinity;
  for (Index i = 0; i < n; ++i) {
    const double v = sign * x[i];
    if (std::isnan(v)) return v;
    most = std::max(most, v);
  }
  return sign * most;
}

template <class T>
double fold_row(Fold fold, const T* x, Index n) {
  const auto squares = [&] { return sum_of(n, [x](Index i) { return double{x[i]} * x[i]; }); };
  switch (fold) {
    case Fold::max:
      return extreme(x, n, 1);
    case Fold::min:
      return extreme(x, n, -1);
    case Fold::prod: {
      double product = 1;
      for (Index i = 0; i < n; ++i) product *= x[i];
      return product;
    }
    case Fold::l1:
      return sum_of(n, [x](Index i) { return std::abs(double{x[i]}); });
    case Fold::l2:
      return std::sqrt(squares());
    case Fold::sum_square:
      return squares();
    case Fold::log_sum:
      return std::log(sum_run(x, n));
    default: {
      // Subtracts the maximum to avoid overflow.
      const double most = extreme(x, n, 1);
      if (std::isinf(most)) return most;
      return most + std::log(sum_of(n, [=](Index i) { return std::exp(x[i] - most); }));
    }
  }
}

// Equal maxima share the gradient.
template <class T>
void share(const T* x, Index n, double most, double dy, T* dx) {
  const auto count = std::count_if(x, x + n, [=](T v) { return v == most; });
  for (Index i = 0; i < n; ++i)
    dx[i] = static_cast<T>(x[i] == most ? dy / static_cast<double>(count) : 0);
}

// The gradient of a factor is the product of the others, also if one is 0.
template <class T>
void product_grad(const T* x, Index n, double dy, T* dx) {
  double others = dy;
  Index zeros = 0;
  for (Index i = 0; i < n; ++i) {
    if (x[i] != 0)
      others *= x[i];
    else
      ++zeros;
  }
  for (Index i = 0; i < n; ++i)
    dx[i] = static_cast<T>(zeros == 0 ? others / x[i] : zeros == 1 && x[i] == 0 ? others : 0);
}

template <class T>
void fold_grad(Fold fold, const T* x, Index n, double dy, T* dx) {
  if (fold == Fold::max || fold == Fold::min) return share(x, n, fold_row(fold, x, n), dy, dx);
  if (fold == Fold::prod) return product_grad(x, n, dy, dx);
  const bool reads_sum = fold == Fold::l2 || fold == Fold::log_sum_exp;
  const double y = reads_sum ? fold_row(fold, x, n) : fold == Fold::log_sum ? sum_run(x, n) : 0;
  for (Index i = 0; i < n; ++i) {
    const double v = x[i];
    double g = 1 / y;
    if (fold == Fold::l1) g = (v > 0) - (v < 0);
    if (fold == Fold::l2) g = y == 0 ? 0 : v / y;
    if (fold == Fold::sum_square) g = 2 * v;
    if (fold == Fold::log_sum_exp) g = v == y ? 1 : std::exp(v - y);
    dx[i] = static_cast<T>(dy * g);
  }
}

Tensor folded(const std::string& op, Fold fold, const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  Reduction r(op, call, x.extents);
  if (x.dtype() != DType::F32 && x.dtype() != DType::F64)
    return reduce_integers(op, fold, x, std::move(r));
  return with_real(op, x.dtype(), [&]<class T>(T) -> Tensor {
    const Rows lines(x, r.over);
    Dense y = unwritten<T>(std::move(r.result));
    const T* from = lines.x.values.as<T>().data();
    T* to = y.values.mutate<T>().data();
    const Index n = lines.length;
    lines.each([&](Index i) { to[i] = static_cast<T>(fold_row(fold, from + i * n, n)); });
    return y;
  });
}

Tensor folded_grad(const std::string& op, Fold fold, const Call& call) {
  const Dense &dy = call.in[0].as<Dense>(), &x = call.in[1].as<Dense>();
  const Reduction r(op, call, x.extents);
  check_gradient(op, dy, r.result);
  check_dtypes(op, "the gradient", dy.dtype(), "x", x.dtype());
  return with_real(op, x.dtype(), [&]<class T>(T) -> Tensor {
    const Rows lines(x, r.over);
    const T *from = lines.x.values.as<T>().data(), *g = dy.values.as<T>().data();
    Values dx = Values::uninitialized(x.dtype(), x.size());
    T* to = dx.mutate<T>().data();
    const Index n = lines.length;
    lines.each([&](Index i) { fold_grad(fold, from + i * n, n, g[i], to + i * n); });
    return lines.back(std::move(dx));
  });
}

}  // namespace

void add_folds(Operators& all) {
  constexpr std::pair<const char*, Fold> folds[]{
      {"reduce-max", Fold::max},         {"reduce-min", Fold::min},
      {"reduce-prod", Fold::prod},       {"reduce-l1", Fold::l1},
      {"reduce-l2", Fold::l2},           {"reduce-sum-square", Fold::sum_square},
      {"reduce-log-sum", Fold::log_sum}, {"reduce-log-sum-exp", Fold::log_sum_exp}};
  for (const auto& [name, fold] : folds) {
    const std::string op = name, grad = op + ".grad";
    const Fold by = fold;
    add_plain(
        all, op, SavedForBackward::inputs, [=](const Call& call) { return folded(op, by, call); },
        [=](const Call& call) { return folded_grad(grad, by, call); });
  }
}

}  // namespace sten
