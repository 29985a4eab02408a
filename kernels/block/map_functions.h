// What a device does element by element, and what moves elements: functions of one and of two
// tensors, sums over axes, pieces and orders of tensors.
// What functions.h says of pointers, streams and bits holds here, too. All elements are floats unless
// said otherwise. Sums are added up in double, in an order that depends on shapes alone.
#pragma once
#include "kernels/block/grid.h"

namespace sten::kernels {

struct MapFunctions {
  // y[rows, n] += b[n].
  void (*add_bias)(std::int64_t rows, std::int64_t n, const float* b, float* y, Stream);
  // to[n] = the sum of the rows of x[rows, n].
  void (*sum_rows)(std::int64_t rows, std::int64_t n, const float* x, float* to, Stream);
};

}  // namespace sten::kernels
