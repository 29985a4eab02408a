// Two operands that are brought to one shape, as numpy does.
#pragma once
#include <algorithm>
#include <string_view>

#include "libsten/base/shape.h"

namespace sten {

// Shapes are aligned at their last axes; where one has extent 1 or no axis, it is repeated.
// Error (usage) where they do not fit.
Shape broadcast_shape(std::string_view op, const Shape& a, const Shape& b);

// Where elements of operands are, as runs along the last axis. Axes that all operands walk alike
// are one.
class Broadcast {
 public:
  // a and b can be repeated to `shape`.
  Broadcast(const Shape& shape, const Shape& a, const Shape& b);

  // f(i, count, ia, step_a, ib, step_b) for pieces of the elements [begin, end) of the output:
  // element i + k is made of a's element ia + k * step_a and b's, for k below count. A step is 0 or
  // 1.
  template <class F>
  void each_run(Index begin, Index end, F&& f) const;

 private:
  struct Axis {
    Index extent, a, b;  // strides of the operands
  };
  std::vector<Axis> axes_;  // the first one outermost; at least one
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

}  // namespace sten
