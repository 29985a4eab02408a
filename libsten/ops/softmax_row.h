// What softmax and the losses of classes compute of one row.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "libsten/ops/sum_axes.h"

namespace sten {

// The largest; NaN is not looked at. -inf where there is none.
template <class T>
T max_run(const T* x, Index n) {
  constexpr Index lanes = 8;
  T most[lanes];
  std::fill_n(most, lanes, -std::numeric_limits<T>::infinity());
  Index i = 0;
  for (; i + lanes <= n; i += lanes)
    for (Index k = 0; k < lanes; ++k) most[k] = x[i + k] > most[k] ? x[i + k] : most[k];
  for (; i < n; ++i) most[0] = x[i] > most[0] ? x[i] : most[0];
  return *std::max_element(most, most + lanes);
}

// The sum of exp(x - most).
template <class T>
double sum_exp(const T* x, Index n, T most) {
  return sum_of(n, [&](Index i) { return double{std::exp(x[i] - most)}; });
}

}  // namespace sten
