// SPDX-License-Identifier: Apache-2.0
// Hard-concrete gates (Louizos, Welling, Kingma 2018): values in [0, 1] that are 0 and 1 with
// positive probability, so that pruning has a gradient. `a` is the log odds of a gate.
#pragma once
#include <algorithm>
#include <cmath>

#include "libsten/core/sparsify/sigmoid.h"

namespace sten::hard_concrete {

// The paper's temperature and the interval that is clamped to [0, 1].
inline constexpr double beta = 2.0 / 3, gamma = -0.1, zeta = 1.1;

struct Gate {
  double z = 0;
  double by_a = 0;  // dz/da
};

inline Gate stretched(double s, double ds) {
  const double z = s * (zeta - gamma) + gamma;
  if (z <= 0) return {0, 0};
  if (z >= 1) return {1, 0};
  return {z, ds * (zeta - gamma)};
}

// A random gate, for u uniform in (0, 1).
inline Gate sample(double a, double u) {
  const double s = sigmoid_of((std::log(u) - std::log1p(-u) + a) / beta);
  return stretched(s, s * (1 - s) / beta);
}

// The deterministic gate of evaluation, which is above 0 if the sparsifier l0 keeps the weight.
inline Gate expected(double a) {
  const double s = sigmoid_of(a);
  return stretched(s, s * (1 - s));
}

// The probability that a sample is above 0, which is the weight's share of the expected L0 norm,
// and its derivative by a.
inline Gate penalty(double a) {
  static const double shift = beta * std::log(-gamma / zeta);
  const double p = sigmoid_of(a - shift);
  return {p, p * (1 - p)};
}

}  // namespace sten::hard_concrete
