// SPDX-License-Identifier: Apache-2.0
// Sums over the elements of a tensor, in double or, beyond its range, in a wider type. The same for
// every number of threads and on every device.
#pragma once
#include <cmath>
#include <limits>
#include <optional>

#include "libsten/core/tensor/dense.h"

namespace sten {

// Saturates at the largest 64-bit value: tensors without values may have any declared size.
inline void add_to(Index& sum, Index n) {
  if (__builtin_add_overflow(sum, n, &sum)) sum = std::numeric_limits<Index>::max();
}

// A sum that is a double while it fits. Sums of finite F64 elements are finite.
class WideSum {
 public:
  WideSum(long double v = 0) : v_(v) {}
  operator long double() const { return v_; }
  WideSum& operator+=(WideSum other) {
    const double sum = static_cast<double>(v_) + static_cast<double>(other.v_);
    v_ = std::isfinite(sum) ? sum : v_ + other.v_;
    return *this;
  }
  // The ratio of doubles, if both are doubles.
  friend double ratio(WideSum a, WideSum b) {
    const auto x = static_cast<double>(a.v_), y = static_cast<double>(b.v_);
    return std::isfinite(x) && std::isfinite(y) ? x / y : static_cast<double>(a.v_ / b.v_);
  }

 private:
  long double v_;
};

struct Magnitudes {
  WideSum all;   // sum of |x|
  WideSum kept;  // over kept positions
};
// x has a prunable dtype. NaN and infinity propagate to the sums.
Magnitudes magnitudes(const Dense& x, const Mask& keep);

struct MaskedDense {
  Dense values;  // x where the mask is true, else 0
  Magnitudes magnitudes;
  Index zeros = 0;  // zero values, including -0.0
};
// Fuses Dense::pack(), magnitudes() and zeros() over cached segments. x has a prunable dtype.
MaskedDense mask_and_measure(const Dense& x, const Mask& keep);

// sum |original| over kept positions / sum |original|; 1 if the original is all zero. NaN if an
// element is NaN or infinite: compare with !(energy >= x).
double energy(const Magnitudes& m);

// Number of elements that are 0 or -0.0.
Index zeros(const Dense& x);

// The elements that are nonzero as numbers: nonzero_mask() without -0.0.
Mask value_mask(const Dense& x);

// Number of kept elements that are 0. x has a prunable dtype.
Index kept_zeros(const Dense& x, const Mask& keep);

struct KeptMeasure {
  Magnitudes magnitudes;
  Index zeros = 0;  // of x where the mask is true, 0 elsewhere
};
// As mask_and_measure(), without the masked values. x has a prunable dtype.
KeptMeasure measure_kept(const Dense& x, const Mask& keep);

// Elements that are neither NaN nor infinite. x has a prunable dtype.
Mask finite_mask(const Dense& x);

// Sums over the finite elements only.
Magnitudes finite_magnitudes(const Dense& x, const Mask& keep);

// Offset of the first NaN or infinity; none for dtypes without such values.
std::optional<Index> first_not_finite(const Dense& x);

}  // namespace sten
