// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/block_influence.h"

#include <cmath>

#include "libsten/core/base/error.h"

namespace sten {

void BlockInfluence::add(const Dense& inputs, const Dense& outputs) {
  if (inputs.extents.empty() || inputs.extents != outputs.extents)
    fail_usage("the output of a layer must have the shape of its input {}, got {}",
               to_string(inputs.extents), to_string(outputs.extents));
  const std::size_t width = inputs.extents.back();
  const auto all_x = inputs.values.as<float>(), all_y = outputs.values.as<float>();
  for (std::size_t begin = 0; begin < all_x.size(); begin += width, ++tokens_) {
    double xx = 0, yy = 0, xy = 0;
    for (std::size_t i = begin; i < begin + width; ++i) {
      const double x = all_x[i], y = all_y[i];
      xx += x * x;
      yy += y * y;
      xy += x * y;
    }
    const double norms = std::sqrt(xx * yy);
    // The cosine of two zero vectors counts as 1, that of one as 0.
    sum_ += 1 - (norms != 0 ? xy / norms : xx == yy ? 1 : 0);
  }
}

}  // namespace sten
