// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/reductions/reduction.h"

#include <cmath>
#include <limits>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/reductions/rows.h"

namespace sten {
namespace {

// Sums and products wrap modulo 2^64.
template <class T>
std::int64_t fold_integers(Fold fold, const T* x, Index n) {
  using Bits = std::uint64_t;
  Bits sum = 0, product = 1, l1 = 0, squares = 0;
  T most = std::numeric_limits<T>::min(), least = std::numeric_limits<T>::max();
  double norm = 0;
  for (Index i = 0; i < n; ++i) {
    const Bits v = static_cast<Bits>(x[i]);
    sum += v;
    product *= v;
    l1 += x[i] < 0 ? 0 - v : v;
    squares += v * v;
    norm += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    most = std::max(most, x[i]);
    least = std::min(least, x[i]);
  }
  const auto number = [](Bits v) { return static_cast<std::int64_t>(v); };
  switch (fold) {
    case Fold::mean:
      return number(sum) / n;
    case Fold::max:
      return most;
    case Fold::min:
      return least;
    case Fold::prod:
      return number(product);
    case Fold::l1:
      return number(l1);
    case Fold::l2:
      return norm < 0x1p126 ? static_cast<std::int64_t>(std::sqrt(norm))
                            : std::numeric_limits<std::int64_t>::max();
    case Fold::sum_square:
      return number(squares);
    default:
      return number(sum);
  }
}

template <class T>
Tensor fold_rows(std::string_view op, Fold fold, const Dense& x, Reduction r) {
  const Rows lines(x, r.over);
  if (fold == Fold::mean && lines.length == 0)
    fail_usage("{}: the mean of no integers is undefined (x is {})", op, to_string(x.extents));
  Dense y{std::move(r.result), Values::uninitialized(x.dtype(), lines.rows)};
  const T* from = lines.x.values.as<T>().data();
  T* to = y.values.mutate<T>().data();
  lines.each([&](Index i) {
    to[i] = static_cast<T>(fold_integers(fold, from + i * lines.length, lines.length));
  });
  return y;
}

}  // namespace

Reduction::Reduction(std::string_view op, const Call& call, const Shape& x) : keepdim_shape(x) {
  call.attributes.check(op, {"axes", "keep", "noop"});
  check_inputs(op, call, 2);
  const std::vector<Index> axes = list_of(op, call, 1, "axes");
  over = axes_named(op, axes, x);
  if (axes.empty() && !call.attributes.integer("noop", 0)) over.assign(x.size(), true);
  const bool keep = call.attributes.integer("keep", 0) != 0;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (over[d]) {
      count *= static_cast<double>(x[d]);
      keepdim_shape[d] = 1;
    }
    if (!over[d] || keep) result.push_back(keepdim_shape[d]);
  }
}

Reduction Reduction::of_gradient(std::string_view op, const Call& call) {
  Reduction r(op, call, input_shape(op, call, 0));
  check_gradient(op, call.in[0].as<Dense>(), r.result);
  return r;
}

Tensor reduce_integers(std::string_view op, Fold fold, const Dense& x, Reduction r) {
  const bool is_extreme = fold == Fold::max || fold == Fold::min;
  const DType t = x.dtype();
  if (fold != Fold::log_sum && fold != Fold::log_sum_exp) {
    if (t == DType::I64) return fold_rows<std::int64_t>(op, fold, x, std::move(r));
    if (t == DType::I32) return fold_rows<std::int32_t>(op, fold, x, std::move(r));
  }
  if (is_extreme && t == DType::I8) return fold_rows<std::int8_t>(op, fold, x, std::move(r));
  if (is_extreme && (t == DType::U8 || t == DType::BOOL))
    return fold_rows<std::uint8_t>(op, fold, x, std::move(r));
  fail_usage("{}: elements must be F32 or F64, got {}", op, sten::name_of(t));
}

}  // namespace sten
