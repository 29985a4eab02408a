// SPDX-License-Identifier: Apache-2.0
// Softmax of a row, for softmax, attention and losses: F32 by kernels, F64 by the formula.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/rows.h"
#include "libsten/compute/ops/common/sum_axes.h"

namespace sten {

// The maximum, ignoring NaN; -inf if empty.
inline float max_run(const float* x, Index n) { return kernels::rows().greatest(x, n); }
inline double max_run(const double* x, Index n) {
  double most = -std::numeric_limits<double>::infinity();
  for (Index i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

// y = exp(x - most); returns the sum of y. nullptr: only the sum. y may be x.
inline double exp_sum(const float* x, Index n, float most, float* y) {
  return kernels::rows().exp_sum(x, n, most, y);
}
inline double exp_sum(const double* x, Index n, double most, double* y) {
  return sum_of(n, [&](Index i) {
    const double e = std::exp(x[i] - most);
    if (y) y[i] = e;
    return e;
  });
}

inline void scale_row(const float* x, Index n, float by, float* y) {
  kernels::rows().scale(x, n, by, y);
}
inline void scale_row(const double* x, Index n, double by, double* y) {
  for (Index i = 0; i < n; ++i) y[i] = by * x[i];
}

// y = softmax(by * x). y may be x.
inline void softmax_row(const float* x, Index n, float by, float* y) {
  kernels::rows().softmax(x, n, by, y);
}
inline void softmax_row(const double* x, Index n, double by, double* y) {
  scale_row(x, n, by, y);
  scale_row(y, n, 1 / exp_sum(y, n, max_run(y, n), y), y);
}

// The gradient of softmax_row(): dx = by * y * (dy - sum(y * dy)). dx may be dy.
inline void softmax_grad_row(const float* dy, const float* y, Index n, float by, float* dx) {
  kernels::rows().softmax_grad(dy, y, n, by, dx);
}
inline void softmax_grad_row(const double* dy, const double* y, Index n, double by, double* dx) {
  const double mean = sum_of(n, [&](Index i) { return dy[i] * y[i]; });
  for (Index i = 0; i < n; ++i) dx[i] = by * y[i] * (dy[i] - mean);
}

}  // namespace sten
