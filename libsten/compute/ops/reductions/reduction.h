// SPDX-License-Identifier: Apache-2.0
// Axes and result shape of a reduction.
#pragma once
#include "libsten/core/dispatch/operators.h"

namespace sten {

struct Reduction {
  std::vector<bool> over;
  Shape keepdim_shape, result;  // with extents of 1 for reduced axes; of the output
  double count = 1;             // elements per sum

  // Reads 'axes', as an attribute or second input, by default all (none with 'noop' = 1); and
  // 'keep'.
  Reduction(std::string_view op, const Call& call, const Shape& x);
  // Those of a gradient, whose input 0 is the gradient of the output.
  static Reduction of_gradient(std::string_view op, const Call& call);
};

enum class Fold { sum, mean, max, min, prod, l1, l2, sum_square, log_sum, log_sum_exp };
// For I64 and I32; max and min also for I8, U8 and BOOL. Sums wrap on overflow.
Tensor reduce_integers(std::string_view op, Fold fold, const Dense& x, Reduction r);

}  // namespace sten
