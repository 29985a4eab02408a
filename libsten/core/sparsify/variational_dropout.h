// SPDX-License-Identifier: Apache-2.0
// Sparse variational dropout (Molchanov, Ashukha, Vetrov 2017): weight w has noise of variance
// sigma^2, and alpha = sigma^2 / w^2. Weights with large alpha are noise and can be pruned.
#pragma once
#include <algorithm>
#include <cmath>

#include "libsten/core/sparsify/sigmoid.h"

namespace sten::variational_dropout {

// Added so that alpha is finite for w = 0.
inline constexpr double least_square = 1e-8;
// Bounds of log alpha, as in the authors' program; the divergence hardly changes beyond them.
inline constexpr double most_log_alpha = 8;

inline double log_alpha(double w, double log_sigma2) {
  return log_sigma2 - std::log(w * w + least_square);
}

// The divergence from the log-uniform prior and its derivatives.
struct Divergence {
  double value = 0, by_w = 0, by_log_sigma2 = 0;
};

// The approximation of equation 14 of the paper, 0 at infinite alpha.
inline Divergence divergence(double w, double log_sigma2) {
  constexpr double k1 = 0.63576, k2 = 1.87320, k3 = 1.48695;
  const double given = log_alpha(w, log_sigma2);
  const double a = std::clamp(given, -most_log_alpha, most_log_alpha);
  const double s = sigmoid_of(k2 + k3 * a);
  const double value = k1 - k1 * s + 0.5 * std::log1p(std::exp(-a));
  if (a != given) return {value, 0, 0};
  const double by_a = -k1 * k3 * s * (1 - s) - 0.5 * sigmoid_of(-a);
  return {value, by_a * -2 * w / (w * w + least_square), by_a};
}

// A standard normal value, for u and v uniform in (0, 1) (Box, Muller 1958).
inline double normal(double u, double v) {
  constexpr double two_pi = 6.283185307179586;
  return std::sqrt(-2 * std::log(u)) * std::cos(two_pi * v);
}

}  // namespace sten::variational_dropout
