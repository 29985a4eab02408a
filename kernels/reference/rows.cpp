// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows.h"

#include <cmath>
#include <limits>

namespace sten::kernels {
namespace {

using Size = std::int64_t;

template <class F>
double sum(Size n, F&& term) {
  double s = 0;
  for (Size i = 0; i < n; ++i) s += term(i);
  return s;
}

float greatest(const float* x, Size n) {
  float most = -std::numeric_limits<float>::infinity();
  for (Size i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

double exp_sum(const float* x, Size n, float most, float* y) {
  return sum(n, [&](Size i) {
    const auto e = static_cast<float>(std::exp(double{x[i] - most}));
    if (y) y[i] = e;
    return double{e};
  });
}

void scale(const float* x, Size n, float by, float* y) {
  for (Size i = 0; i < n; ++i) y[i] = by * x[i];
}

void softmax(const float* x, Size n, float by, float* y) {
  scale(x, n, by, y);
  const double all = exp_sum(y, n, greatest(y, n), y);
  scale(y, n, static_cast<float>(1 / all), y);
}

void softmax_grad(const float* dy, const float* y, Size n, float by, float* dx) {
  const auto mean = static_cast<float>(sum(n, [&](Size i) { return double{y[i]} * dy[i]; }));
  for (Size i = 0; i < n; ++i) dx[i] = by * y[i] * (dy[i] - mean);
}

RowMoments moments(const float* x, Size n, double eps) {
  const auto count = static_cast<double>(n);
  const double mean = sum(n, [&](Size i) { return double{x[i]}; }) / count;
  const double square = sum(n, [&](Size i) { return (x[i] - mean) * (x[i] - mean); }) / count;
  const auto part = static_cast<float>(mean);
  return {part, static_cast<float>(mean - part), static_cast<float>(1 / std::sqrt(square + eps))};
}

float normalized(const RowMoments& s, float x) { return (x - s.mean - s.rest) * s.by; }

void normalize(const RowMoments& s, const float* x, Size n, const float* gamma, const float* beta,
               float* y) {
  for (Size i = 0; i < n; ++i) y[i] = normalized(s, x[i]) * gamma[i] + beta[i];
}

void normalize_grad(const RowMoments& s, const float* dy, const float* x, Size n,
                    const float* gamma, float* dx) {
  const auto g = [&](Size i) { return dy[i] * gamma[i]; };
  const auto count = static_cast<double>(n);
  const auto mean = static_cast<float>(sum(n, g) / count);
  const auto along = static_cast<float>(
      sum(n, [&](Size i) { return double{g(i)} * normalized(s, x[i]); }) / count);
  for (Size i = 0; i < n; ++i) dx[i] = s.by * (g(i) - mean - normalized(s, x[i]) * along);
}

void add_normalized(const RowMoments& s, const float* dy, const float* x, Size n, double* gamma,
                    double* beta) {
  for (Size i = 0; i < n; ++i) {
    gamma[i] += dy[i] * normalized(s, x[i]);
    beta[i] += dy[i];
  }
}

void add_rows(const float* x, Size stride, Size rows, Size n, double* sums) {
  for (Size r = 0; r < rows; ++r)
    for (Size i = 0; i < n; ++i) sums[i] += x[r * stride + i];
}

void multiply_vector(const float* a, Size rows, Size n, const float* x, float* y) {
  for (Size r = 0; r < rows; ++r)
    y[r] = static_cast<float>(sum(n, [&](Size i) { return double{a[r * n + i]} * x[i]; }));
}

}  // namespace

const RowsTable* rows_reference() {
  static constexpr RowsTable table{greatest,       exp_sum,  scale,          softmax,
                                   softmax_grad,   moments,  normalize,      normalize_grad,
                                   add_normalized, add_rows, multiply_vector};
  return &table;
}

}  // namespace sten::kernels
