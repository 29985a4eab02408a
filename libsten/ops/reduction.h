// Which axes a reduction goes over, and what it leaves.
#pragma once
#include "libsten/dispatch/operators.h"

namespace sten {

struct Reduction {
  std::vector<bool> over;
  Shape keepdim_shape, result;  // with extents of 1 for axes that are gone; as the output has it
  double count = 1;             // elements in each sum

  // By the attributes 'axes', which may be the second input instead: all without them,
  // unless 'noop' is 1; and 'keep'.
  Reduction(std::string_view op, const Call& call, const Shape& x);
};

enum class Fold { sum, mean, max, min, prod, l1, l2, sum_square, log_sum, log_sum_exp };
// Of I64 and I32; max and min of I8, U8 and BOOL too. Sums that are too large wrap around.
Tensor reduce_integers(std::string_view op, Fold fold, const Dense& x, Reduction r);

}  // namespace sten
