// How far two tensors are from each other.
#pragma once
#include <optional>

#include "libsten/run/measure.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// As numbers: -0.0 is 0, and one NaN is as another.
struct Difference {
  Index changed = 0;    // elements
  Index to_zero = 0;    // of them, those that became 0
  Index from_zero = 0;  // and those that were 0
  Index in_both = 0;    // of dtypes compared bit by bit: not 0, before and after
  // Changed elements of which either was NaN or infinite; the rest leaves these out.
  Index not_finite = 0;
  double largest = 0;         // |after - before|
  WideSum squares, original;  // the sums of (after - before)^2 and before^2

  void add(const Difference& d);
  // The Frobenius norm of after - before over that of before; none where only the latter is 0.
  std::optional<double> relative_norm() const;
};

// Whether difference() takes its elements as numbers: prunable dtypes, integers and BOOL.
bool has_numbers(DType dtype);

// Of tensors of one shape, on the CPU. Dtypes that have numbers may be two; others are one, are
// compared bit by bit, and have no more than counts. The same at any thread count.
Difference difference(const Dense& before, const Dense& after);

// The same without the dense forms of tensors that are far larger so.
Difference difference(const Tensor& before, const Tensor& after);

}  // namespace sten
