// SPDX-License-Identifier: Apache-2.0
// The difference of two tensors.
#pragma once
#include <optional>

#include "libsten/core/tensor/tensor.h"
#include "libsten/programs/measure/measure.h"

namespace sten {

// Elements compare as numbers: -0.0 equals 0, and NaN equals NaN.
struct Difference {
  Index changed = 0;    // changed elements
  Index to_zero = 0;    // changed elements that became 0
  Index from_zero = 0;  // changed elements that were 0
  Index in_both = 0;    // of dtypes compared bit by bit: nonzero before and after
  // Changed elements that are or were NaN or infinite; the fields below exclude them.
  Index not_finite = 0;
  double largest = 0;         // |after - before|
  WideSum squares, original;  // sums of (after - before)^2 and before^2

  void add(const Difference& d);
  // The Frobenius norm of after - before divided by that of before; none if only the latter is 0.
  std::optional<double> relative_norm() const;
};

// Whether difference() compares elements as numbers: prunable dtypes, integers and BOOL.
bool has_numbers(DType dtype);

// Compares CPU tensors of one shape. Dtypes with numbers may differ; other dtypes must be equal and
// are only counted, bit by bit. Deterministic for every number of threads.
Difference difference(const Dense& before, const Dense& after);

// As above, without the dense forms of tensors that store few elements.
Difference difference(const Tensor& before, const Tensor& after);

}  // namespace sten
