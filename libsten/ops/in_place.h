// Operators that write over their first operand, with PyTorch's names for that. A value that nobody
// else holds is written where it lies; else x alone becomes a new one, and copies of it stay.
//
//   relu_(x);
//   View(x, 0, 0, 2).set(y);  // the first two rows
//
// x may be a tensor, or a value of a tape, which records what ran as ever. Then Error (usage), and x
// stays, where x is a parameter, or where the tape needs the old value to go backwards.
#pragma once
#include "libsten/ops/operators.h"

namespace sten {

// What is below 0 becomes 0: of a sparse x the stored values.
void relu_(Tensor& x);
void relu_(Var& x);
// x * by, of a sparse x the stored values.
void scale_(Tensor& x, double by);
void scale_(Var& x, double by);
// x + y, y being repeated to x's shape. A sparse x, for which y has that shape, keeps its positions
// and gets what y has there. Error (usage) where the sum has another shape or dtype.
void add_(Tensor& x, const Tensor& y);
void add_(Var& x, const Var& y);

// The indices [begin, end) of an axis of a dense x become v, of that shape and x's dtype.
void slice_scatter_(Tensor& x, const Tensor& v, Index axis, Index begin, Index end);
void slice_scatter_(Var& x, const Var& v, Index axis, Index begin, Index end);

// A part of x that writes go through to: the indices [begin, end) of an axis, whole shape otherwise.
// x is dense, and outlives the view.
template <Operand T>
class View {
 public:
  View(T& x, Index axis, Index begin, Index end) : x_(x), axis_(axis), begin_(begin), end_(end) {}

  // A value of its own, as slice() gives it.
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
