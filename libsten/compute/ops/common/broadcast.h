// SPDX-License-Identifier: Apache-2.0
// Broadcasting of two operands, as in NumPy.
#pragma once
#include <algorithm>
#include <string_view>

#include "libsten/core/dispatch/operators.h"

namespace sten {

// The broadcast shape: shapes are aligned at their last axes, and missing or unit extents are
// repeated. Error (usage) if other extents differ.
Shape broadcast_shape(std::string_view op, const Shape& a, const Shape& b,
                      std::string_view a_name = "a", std::string_view b_name = "b");

// Iterates over the elements of broadcast operands, in runs along the last axis. Axes that are
// contiguous in all operands are merged.
class Broadcast {
 public:
  // a and b must be broadcastable to `shape`.
  Broadcast(const Shape& shape, const Shape& a, const Shape& b);

  // Calls f(i, count, ia, step_a, ib, step_b) for runs of the output elements [begin, end): element
  // i + k uses elements ia + k * step_a of a and ib + k * step_b of b, for k < count. Steps are 0
  // or 1.
  template <class F>
  void each_run(Index begin, Index end, F&& f) const;
  // Calls f(i, index in a, index in b) for each element in [begin, end). For F32, in loops that
  // compilers vectorize.
  template <class A, class B, class F>
  void each_pair(Index begin, Index end, const A* a, const B* b, F&& f) const;

 private:
  struct Axis {
    Index extent, a, b;  // strides of the operands
  };
  std::vector<Axis> axes_;  // outermost first; at least one
};

template <class F>
void Broadcast::each_run(Index begin, Index end, F&& f) const {
  if (begin >= end) return;
  const Axis& last = axes_.back();
  const std::size_t outer = axes_.size() - 1;
  std::vector<Index> at(axes_.size());
  Index rest = begin, ia = 0, ib = 0;
  for (std::size_t d = axes_.size(); d-- > 0;) {
    at[d] = rest % axes_[d].extent;
    rest /= axes_[d].extent;
    ia += at[d] * axes_[d].a;
    ib += at[d] * axes_[d].b;
  }
  for (Index i = begin; i < end;) {
    const Index count = std::min(last.extent - at[outer], end - i);
    f(i, count, ia, last.a, ib, last.b);
    i += count;
    ia -= at[outer] * last.a;
    ib -= at[outer] * last.b;
    at[outer] = 0;
    for (std::size_t d = outer; d-- > 0;) {
      ia += axes_[d].a;
      ib += axes_[d].b;
      if (++at[d] < axes_[d].extent) break;
      ia -= at[d] * axes_[d].a;
      ib -= at[d] * axes_[d].b;
      at[d] = 0;
    }
  }
}

template <class A, class B, class F>
void Broadcast::each_pair(Index begin, Index end, const A* a, const B* b, F&& f) const {
  constexpr bool is_fast = std::same_as<B, float>;
  each_run(begin, end, [&](Index i, Index n, Index ia, Index sa, Index ib, Index sb) {
    const A* x = a + ia;
    const B* y = b + ib;
    if (is_fast && sa == 1 && sb == 1)
      for (Index k = 0; k < n; ++k) f(i + k, x[k], y[k]);
    else if (is_fast && sa == 1 && sb == 0)
      for (Index k = 0; k < n; ++k) f(i + k, x[k], *y);
    else if (is_fast && sa == 0 && sb == 1)
      for (Index k = 0; k < n; ++k) f(i + k, *x, y[k]);
    else
      for (Index k = 0; k < n; ++k) f(i + k, x[k * sa], y[k * sb]);
  });
}

// Sums the gradient of a broadcast operand to the operand's shape. T: the type of the elements.
template <class T>
Tensor sum_to(const OutFormat& format, const Dense& repeated, const Shape& shape);
extern template Tensor sum_to<float>(const OutFormat&, const Dense&, const Shape&);
extern template Tensor sum_to<double>(const OutFormat&, const Dense&, const Shape&);

}  // namespace sten
