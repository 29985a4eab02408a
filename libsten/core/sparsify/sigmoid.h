// SPDX-License-Identifier: Apache-2.0
// The logistic function.
#pragma once
#include <cmath>

namespace sten {

inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace sten
