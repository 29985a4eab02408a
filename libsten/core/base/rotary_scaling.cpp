// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/rotary_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sten {

double Llama3Scaling::multiplier(double frequency) const {
  const double wave = 2 * std::numbers::pi / frequency;
  const double kept = std::clamp(
      (original_positions / wave - low_freq_factor) / (high_freq_factor - low_freq_factor), 0.0,
      1.0);
  return (1 - kept) / factor + kept;
}

double yarn_attention_factor(double factor, std::optional<double> mscale,
                             std::optional<double> mscale_all) {
  if (factor <= 1) return 1;
  const auto of = [&](double m) { return 0.1 * m * std::log(factor) + 1; };
  return mscale && mscale_all ? of(*mscale) / of(*mscale_all) : of(1);
}

}  // namespace sten
