// Sums over the elements of a tensor, in double, the same at any thread count and on any device.
#pragma once
#include <optional>

#include "libsten/tensor/dense.h"

namespace sten {

struct Magnitudes {
  double all = 0;   // sum of |x|
  double kept = 0;  // over the kept positions
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
// where the sums are not finite: compare with !(energy >= x).
double energy(const Magnitudes& m);

// Elements that are 0, -0.0 among them.
Index zeros(const Dense& x);

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
