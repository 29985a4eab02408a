// Sums over some axes of a tensor.
#pragma once
#include <vector>

#include "libsten/base/shape.h"

namespace sten {

// x's sums over the axes that are true in `over`, in row-major order of the other axes. T is float
// or double; added up in double, on threads(), in an order that does not depend on how many those
// are.
template <class T>
std::vector<double> sum_axes(const T* x, const Shape& shape, const std::vector<bool>& over);

// In eight sums that take turns, so that vectors can be added and small terms count.
template <class T>
double sum_run(const T* x, Index n) {
  constexpr Index lanes = 8;
  double sums[lanes] = {};
  Index i = 0;
  for (; i + lanes <= n; i += lanes)
    for (Index k = 0; k < lanes; ++k) sums[k] += x[i + k];
  for (; i < n; ++i) sums[i % lanes] += x[i];
  for (Index step = lanes / 2; step > 0; step /= 2)
    for (Index k = 0; k < step; ++k) sums[k] += sums[k + step];
  return sums[0];
}

extern template std::vector<double> sum_axes(const float*, const Shape&, const std::vector<bool>&);
extern template std::vector<double> sum_axes(const double*, const Shape&, const std::vector<bool>&);

}  // namespace sten
