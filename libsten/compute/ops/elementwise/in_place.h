// SPDX-License-Identifier: Apache-2.0
// In-place operators, with PyTorch's names. A value that is not shared is overwritten; otherwise x
// gets a new value, and copies of x keep the old one.
//
//   relu_(x);
//   View(x, 0, 0, 2).set(y);  // the first two rows
//   apply_in_place("gate", x, {y});  // any other operator
//
// x is a tensor, or a variable of a tape, which records the operator. Then Error (usage), with x
// unchanged, if x is a parameter, or if the backward pass needs the old value.
#pragma once
#include "libsten/compute/ops/common/operators.h"

namespace sten {

// x = max(x, 0); of a sparse x the stored values.
void relu_(Tensor& x);
void relu_(Var& x);
// x = x * by; of a sparse x the stored values.
void scale_(Tensor& x, double by);
void scale_(Var& x, double by);
// x = x + y, with y broadcast to x's shape. A sparse x, for which y must have x's shape, keeps its
// positions and adds y there. Error (usage) if the sum has another shape or dtype.
void add_(Tensor& x, const Tensor& y);
void add_(Var& x, const Var& y);

// x = op(x, others...), for every operator whose result has the shape and dtype of x: else Error
// (usage). A sparse x keeps its layout and its positions: other elements of the result are dropped.
// Without an implementation that writes them, the result is computed dense and packed again, with a
// warning (core/base/fallback.h).
void apply_in_place(Name op, Tensor& x, std::initializer_list<Tensor> others = {},
                    const Attributes& attributes = {});
void apply_in_place(Name op, Var& x, std::initializer_list<Var> others = {},
                    const Attributes& attributes = {});

// Replaces the indices [begin, end) of an axis of x by v, which has their shape and x's dtype. A
// sparse x keeps its positions, as by apply_in_place().
void slice_scatter_(Tensor& x, const Tensor& v, Index axis, Index begin, Index end);
void slice_scatter_(Var& x, const Var& v, Index axis, Index begin, Index end);

// A slice of x that writes go through to: the indices [begin, end) of an axis. x must outlive the
// view.
template <Operand T>
class View {
 public:
  View(T& x, Index axis, Index begin, Index end) : x_(x), axis_(axis), begin_(begin), end_(end) {}

  // A copy of the slice, as from slice().
  T get() const { return slice(x_, axis_, begin_, end_); }
  void set(const T& v) const { slice_scatter_(x_, v, axis_, begin_, end_); }

 private:
  T& x_;
  Index axis_, begin_, end_;
};

template <Operand T>
void relu_(const View<T>& x) {
  x.set(relu(x.get()));
}
template <Operand T>
void scale_(const View<T>& x, double by) {
  x.set(scale(x.get(), by));
}
template <Operand T>
void add_(const View<T>& x, const std::type_identity_t<T>& y) {
  x.set(add(x.get(), y));
}

}  // namespace sten
