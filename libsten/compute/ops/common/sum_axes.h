// SPDX-License-Identifier: Apache-2.0
// Sums over axes.
#pragma once
#include <algorithm>
#include <vector>

#include "libsten/core/base/parallel.h"

namespace sten {

// Sums x over the axes that are true in `over`, in row-major order of the others. T is float or
// double; sums are in double. Deterministic for every number of threads.
template <class T>
std::vector<double> sum_axes(const T* x, const Shape& shape, const std::vector<bool>& over);

// The sum of term(i), a double, for i < n, in eight alternating sums, for vectorization and
// accuracy.
template <class F>
double sum_of(Index n, F&& term) {
  constexpr Index lanes = 8;
  double sums[lanes] = {};
  Index i = 0;
  for (; i + lanes <= n; i += lanes)
    for (Index k = 0; k < lanes; ++k) sums[k] += term(i + k);
  for (; i < n; ++i) sums[i % lanes] += term(i);
  for (Index step = lanes / 2; step > 0; step /= 2)
    for (Index k = 0; k < step; ++k) sums[k] += sums[k + step];
  return sums[0];
}
template <class T>
double sum_run(const T* x, Index n) {
  return sum_of(n, [x](Index i) { return double{x[i]}; });
}

// The same on threads(), in segments that do not depend on their number.
template <class F>
double sum_on_threads(Index n, F&& term) {
  constexpr Index piece = Index{1} << 15;
  std::vector<double> sums(ceil_div(n, piece));
  parallel_for(std::ssize(sums), 1, [&](Index begin, Index end) {
    for (Index p = begin; p < end; ++p)
      sums[p] =
          sum_of(std::min(piece, n - p * piece), [&](Index i) { return term(p * piece + i); });
  });
  return sum_run(sums.data(), std::ssize(sums));
}

extern template std::vector<double> sum_axes(const float*, const Shape&, const std::vector<bool>&);
extern template std::vector<double> sum_axes(const double*, const Shape&, const std::vector<bool>&);

}  // namespace sten
