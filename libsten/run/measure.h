// Sums over the elements of a tensor, in double, the same at any thread count.
#pragma once
#include <optional>

#include "libsten/tensor/dense.h"

namespace sten {

struct Magnitudes {
  double all = 0;   // sum of |x|
  double kept = 0;  // over the kept positions
};
// x has a prunable dtype.
Magnitudes magnitudes(const Dense& x, const Mask& keep);

// sum |original| over the kept positions / sum |original|; 1 if the original is all zero.
double energy(const Magnitudes& m);

// Elements that are 0, -0.0 among them.
Index zeros(const Dense& x);

// Elements that are kept and 0.
Index kept_zeros(const Dense& x, const Mask& keep);

// Elements that are neither NaN nor infinite. x has a prunable dtype.
Mask finite_mask(const Dense& x);

// The first NaN or infinity; none for dtypes that have none.
std::optional<Index> first_not_finite(const Dense& x);

}  // namespace sten
