// SPDX-License-Identifier: Apache-2.0
// Distinct elements, or slices along an axis: values, index of the first occurrence, inverse
// indices, and counts.
#include <algorithm>
#include <numeric>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/reductions/rows.h"

namespace sten {
namespace {

// NaN is equal to itself, and last.
template <class T>
bool is_less(T a, T b) {
  return a < b || (a == a && b != b);
}

struct Distinct {
  Rows lines;  // one row per slice
  std::vector<std::int64_t> first, inverse, counts;

  // Without an axis, elements in order.
  static Rows rows_of(const char* op, const Call& call) {
    const Dense& x = call.in[0].as<Dense>();
    if (!call.attributes.has("axis"))
      return {Dense{{x.size(), 1}, x.values}, std::vector<bool>{false, true}};
    std::vector<bool> along(x.extents.size(), true);
    along[axis_of(op, call.attributes.integer("axis", 0), x.extents)] = false;
    return {x, along};
  }

  Distinct(const char* op, const Call& call) : lines(rows_of(op, call)) {
    call.attributes.check(op, {"axis", "sorted"});
    check_inputs(op, call, 1);
    const DType in = computed_in(op, lines.x.dtype());
    const Dense x = to_compute(op, lines.x, in);
    const Index rows = lines.rows, n = lines.length;
    std::vector<std::int64_t> order(rows);
    std::iota(order.begin(), order.end(), 0);
    inverse.resize(rows);
    with_computed(in, [&]<class T>(T) {
      const T* v = x.values.as<T>().data();
      const auto goes_before = [=](std::int64_t a, std::int64_t b) {
        return std::lexicographical_compare(v + a * n, v + (a + 1) * n, v + b * n, v + (b + 1) * n,
                                            is_less<T>);
      };
      std::ranges::stable_sort(order, goes_before);
      for (Index i = 0; i < rows; ++i) {
        if (i == 0 || goes_before(order[i - 1], order[i])) {
          first.push_back(order[i]);
          counts.push_back(0);
        }
        inverse[order[i]] = std::ssize(first) - 1;
        ++counts.back();
      }
    });
    if (!call.attributes.integer("sorted", 1)) sort_by_position();
  }

 private:
  // Sorts by first occurrence.
  void sort_by_position() {
    std::vector<std::int64_t> order(first.size()), place(first.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::int64_t i) { return first[i]; });
    const std::vector<std::int64_t> old = counts;
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<std::int64_t>(i);
      counts[i] = old[order[i]];
    }
    std::ranges::sort(first);
    for (std::int64_t& i : inverse) i = place[i];
  }
};

Tensor unique(const Call& call) {
  const Distinct d("unique", call);
  const Index n = d.lines.length, count = std::ssize(d.first);
  Values v = Values::uninitialized(d.lines.x.dtype(), count * n);
  with_width(v.width(), [&]<class U>(U) {
    const U* x = d.lines.x.values.as<U>().data();
    U* to = v.mutate<U>().data();
    for (const std::int64_t i : d.first) to = std::copy_n(x + i * n, n, to);
  });
  if (!call.attributes.has("axis")) return Dense{{count}, std::move(v)};
  Shape shape = d.lines.x.extents;
  shape[0] = count;
  return permute({std::move(shape), std::move(v)}, sten::inverse(d.lines.axes));
}

void add_numbers(Operators& all, const char* op, std::vector<std::int64_t> Distinct::*which) {
  add_plain(all, op, SavedForBackward::nothing, [=](const Call& call) -> Tensor {
    const Distinct d(op, call);
    const std::vector<std::int64_t>& numbers = d.*which;
    Dense y{{std::ssize(numbers)}, Values::uninitialized(DType::I64, std::ssize(numbers))};
    std::ranges::copy(numbers, y.values.mutate<std::int64_t>().begin());
    return y;
  });
}

}  // namespace

void add_uniques(Operators& all) {
  add_plain(all, "unique", SavedForBackward::nothing, unique);
  add_numbers(all, "unique-indices", &Distinct::first);
  add_numbers(all, "unique-inverse", &Distinct::inverse);
  add_numbers(all, "unique-counts", &Distinct::counts);
}

}  // namespace sten
