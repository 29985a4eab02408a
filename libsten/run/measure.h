// Sums over the elements of a tensor, in double, and in a wider type beyond it: the same at any
// thread count and on any device.
#pragma once
#include <cmath>
#include <limits>
#include <optional>

#include "libsten/tensor/dense.h"

namespace sten {

// Stays at the most that 64 bits hold: tensors without values can say that they have any size.
inline void add_to(Index& sum, Index n) {
  if (__builtin_add_overflow(sum, n, &sum)) sum = std::numeric_limits<Index>::max();
}

// A sum that is a double as long as one holds it: finite elements of F64 have a finite sum.
class WideSum {
 public:
  WideSum(long double v = 0) : v_(v) {}
  operator long double() const { return v_; }
  WideSum& operator+=(WideSum other) {
    const double sum = static_cast<double>(v_) + static_cast<double>(other.v_);
    v_ = std::isfinite(sum) ? sum : v_ + other.v_;
    return *this;
  }
  // As of doubles where both are some.
  friend double ratio(WideSum a, WideSum b) {
    const auto x = static_cast<double>(a.v_), y = static_cast<double>(b.v_);
    return std::isfinite(x) && std::isfinite(y) ? x / y : static_cast<double>(a.v_ / b.v_);
  }

 private:
  long double v_;
};

struct Magnitudes {
  WideSum all;   // sum of |x|
  WideSum kept;  // over the kept positions
};
// x has a prunable dtype. NaN and infinities make the sums what they are.
Magnitudes magnitudes(const Dense& x, const Mask& keep);

struct MaskedDense {
  Dense values;  // x where the mask keeps it, else 0
  Magnitudes magnitudes;
  Index zeros = 0;  // of the values, -0.0 among them
};
// Dense::pack(), magnitudes() and zeros() while each piece is in cache. x has a prunable dtype.
MaskedDense mask_and_measure(const Dense& x, const Mask& keep);

// sum |original| over the kept positions / sum |original|; 1 if the original is all zero. NaN
// where an element is NaN or infinite: compare with !(energy >= x).
double energy(const Magnitudes& m);

// Elements that are 0, -0.0 among them.
Index zeros(const Dense& x);

// The elements that are not 0 as numbers: nonzero_mask() without -0.0.
Mask value_mask(const Dense& x);

// Elements that are kept and 0. x has a prunable dtype.
Index kept_zeros(const Dense& x, const Mask& keep);

struct KeptMeasure {
  Magnitudes magnitudes;
  Index zeros = 0;  // of x where the mask keeps it, and 0 elsewhere
};
// In one pass, and without that tensor. x has a prunable dtype.
KeptMeasure measure_kept(const Dense& x, const Mask& keep);

// Elements that are neither NaN nor infinite. x has a prunable dtype.
Mask finite_mask(const Dense& x);

// The sums over the finite elements, which others would hide.
Magnitudes finite_magnitudes(const Dense& x, const Mask& keep);

// The first NaN or infinity; none for dtypes that have none.
std::optional<Index> first_not_finite(const Dense& x);

}  // namespace sten
