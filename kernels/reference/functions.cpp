// SPDX-License-Identifier: Apache-2.0
#include "kernels/functions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sten::kernels {
namespace {

// P(X <= x). erfc keeps its precision for small probabilities; 1 + erf does not.
double below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
double density(double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

template <class F>
void each(const float* x, std::int64_t n, float* y, F&& f) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(f(double{x[i]}));
}

void tanh(const float* x, std::int64_t n, float* y) {
  each(x, n, y, [](double v) { return std::tanh(v); });
}
void sigmoid(const float* x, std::int64_t n, float* y) {
  each(x, n, y, [](double v) { return 1 / (1 + std::exp(-v)); });
}
void gelu(const float* x, std::int64_t n, float* y) {
  each(x, n, y, [](double v) { return v * below(v); });
}
void gelu_tanh(const float* x, std::int64_t n, float* y) {
  // 1 + tanh u = 2 / (1 + e^-2u), which keeps its precision for small results.
  const double by = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  each(x, n, y, [=](double v) {
    v = std::max(v, -20.0);  // the result is 0 there; -inf would be divided by infinity
    return v / (1 + std::exp(-2 * by * (v + 0.044715 * v * v * v)));
  });
}
void silu(const float* x, std::int64_t n, float* y) {
  each(x, n, y, [](double v) {
    v = std::max(v, -700.0);
    return v / (1 + std::exp(-v));
  });
}
void gelu_grad(const float* dy, const float* x, std::int64_t n, float* dx) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = x[i];
    dx[i] = static_cast<float>(dy[i] * (below(v) + v * density(v)));
  }
}

void adamw(const AdamWStep& s, float* w, const float* g, float* m, float* v, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    m[i] += s.toward1 * (g[i] - m[i]);
    v[i] += s.toward2 * (g[i] * g[i] - v[i]);
    w[i] -= s.decay * w[i] + s.rate * m[i] / (s.root * std::sqrt(v[i]) + s.eps);
  }
}

}  // namespace

const FunctionsTable* functions_reference() {
  static constexpr FunctionsTable table{tanh, sigmoid, gelu, gelu_tanh, silu, gelu_grad, adamw};
  return &table;
}

}  // namespace sten::kernels
