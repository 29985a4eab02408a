// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/difference.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "libsten/core/base/floats.h"
#include "libsten/core/layout/entries.h"
#include "libsten/programs/rewrite/by_segment.h"

namespace sten {
namespace {

constexpr Index numbers_at_once = 2048;

// f(U{}) for the integers and BOOL.
template <class F>
bool with_integer(DType t, F&& f) {
  switch (t) {
    case DType::BOOL:
    case DType::U8:
      return f(std::uint8_t{}), true;
    case DType::I8:
      return f(std::int8_t{}), true;
    case DType::U16:
      return f(std::uint16_t{}), true;
    case DType::I16:
      return f(std::int16_t{}), true;
    case DType::U32:
      return f(std::uint32_t{}), true;
    case DType::I32:
      return f(std::int32_t{}), true;
    case DType::U64:
      return f(std::uint64_t{}), true;
    case DType::I64:
      return f(std::int64_t{}), true;
    default:
      return false;
  }
}

// Decodes elements [begin, begin + n) to doubles; integers are rounded.
void decode_numbers(const Dense& x, Index begin, Index n, double* to) {
  if (is_prunable(x.dtype()))
    with_float(x.dtype(), [&]<class E>(E) {
      const auto* from = x.values.as<typename E::Bits>().data() + begin;
      for (Index i = 0; i < n; ++i) to[i] = E::decode(from[i]);
    });
  else
    with_integer(x.dtype(), [&]<class U>(U) {
      const auto* from = x.values.as<U>().data() + begin;
      for (Index i = 0; i < n; ++i) to[i] = static_cast<double>(from[i]);
    });
}

void count_change(Difference& d, bool was_zero, bool is_zero) {
  ++d.changed;
  d.to_zero += is_zero;
  d.from_zero += was_zero;
}

// For dtypes whose equal values have equal bits, or that are compared bit by bit.
template <class U>
void count_changed_bits(const U* a, const U* b, Index n, Difference& d) {
  for (Index i = 0; i < n; ++i) {
    if (a[i] != b[i]) count_change(d, a[i] == 0, b[i] == 0);
    d.in_both += a[i] != 0 && b[i] != 0;
  }
}

// Sums in Real, which holds the squares of all elements. Counts unless the bits were counted.
template <class Real>
void add_numbers(const Dense& a, const Dense& b, Index begin, Index end, bool counts,
                 Difference& d) {
  double x[numbers_at_once], y[numbers_at_once];
  Real squares = 0, original = 0;
  for (Index at = begin; at < end; at += numbers_at_once) {
    const Index n = std::min(numbers_at_once, end - at);
    decode_numbers(a, at, n, x);
    decode_numbers(b, at, n, y);
    for (Index i = 0; i < n; ++i) {
      const bool finite = std::isfinite(x[i]) && std::isfinite(y[i]);
      if (finite) original += static_cast<Real>(x[i]) * x[i];
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      if (counts) count_change(d, x[i] == 0, y[i] == 0);
      d.not_finite += !finite;
      if (!finite) continue;
      const Real by = static_cast<Real>(y[i]) - x[i];
      squares += by * by;
      d.largest = std::max(d.largest, static_cast<double>(std::abs(by)));
    }
  }
  d.squares += squares;
  d.original += original;
}

Difference difference_of_segment(const Dense& a, const Dense& b, Index begin, Index end) {
  Difference d;
  const bool bits = a.dtype() == b.dtype() && !is_prunable(a.dtype());
  if (bits)
    with_width(a.values.width(), [&]<class U>(U) {
      count_changed_bits(a.values.as<U>().data() + begin, b.values.as<U>().data() + begin,
                         end - begin, d);
    });
  if (!has_numbers(a.dtype())) return d;
  if (a.dtype() == DType::F64 || b.dtype() == DType::F64)
    add_numbers<long double>(a, b, begin, end, !bits, d);
  else
    add_numbers<double>(a, b, begin, end, !bits, d);
  return d;
}

}  // namespace

void Difference::add(const Difference& d) {
  add_to(changed, d.changed);
  add_to(to_zero, d.to_zero);
  add_to(from_zero, d.from_zero);
  add_to(in_both, d.in_both);
  add_to(not_finite, d.not_finite);
  largest = std::max(largest, d.largest);
  squares += d.squares;
  original += d.original;
}

std::optional<double> Difference::relative_norm() const {
  if (squares == 0) return 0.0;
  if (original == 0) return std::nullopt;
  return static_cast<double>(std::sqrt(static_cast<long double>(squares)) /
                             std::sqrt(static_cast<long double>(original)));
}

bool has_numbers(DType dtype) {
  return is_prunable(dtype) || with_integer(dtype, [](auto) {});
}

Difference difference(const Dense& before, const Dense& after) {
  Difference sum;
  for (const Difference& d : by_segment<Difference>(before.size(), [&](Index begin, Index end) {
         return difference_of_segment(before, after, begin, end);
       }))
    sum.add(d);
  return sum;
}

Difference difference(const Tensor& before, const Tensor& after) {
  if (is_far_larger_dense(before) && is_far_larger_dense(after)) {
    const auto a = entries_of(before), b = entries_of(after);
    if (a && b) {
      std::vector<Index> at;
      std::set_union(a->at.begin(), a->at.end(), b->at.begin(), b->at.end(),
                     std::back_inserter(at));
      return difference(values_at(*a, at), values_at(*b, at));
    }
  }
  return difference(before.to_dense(), after.to_dense());
}

}  // namespace sten
