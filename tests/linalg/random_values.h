// SPDX-License-Identifier: Apache-2.0
// Values of a test's matrices.
#pragma once
#include <vector>

#include "libsten/core/base/random.h"
#include "libsten/core/base/shape.h"

namespace sten::testing {

// n values of [-1, 1).
inline std::vector<float> random_values(std::uint64_t seed, Index n) {
  std::vector<float> x(n);
  for (Index i = 0; i < n; ++i)
    x[i] = static_cast<float>(2 * random_uniform(seed, static_cast<std::uint64_t>(i)) - 1);
  return x;
}

}  // namespace sten::testing
