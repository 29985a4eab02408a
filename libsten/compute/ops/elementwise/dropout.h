// SPDX-License-Identifier: Apache-2.0
// Checked calls of dropout and of its gradient.
#pragma once
#include "libsten/core/dispatch/operators.h"

namespace sten {

struct DropoutCall {
  double p = 0;
  std::uint64_t seed = 0;
  // Input `first`, a single I64, if present: selects, with the seed, the stream of random numbers.
  const Dense* draw = nullptr;

  // Error (usage) for invalid attributes or a wrong draw.
  DropoutCall(const Call& call, std::size_t first);
  // The factor of kept elements; 0 for p = 1, where all are dropped.
  double scale() const { return p < 1 ? 1 / (1 - p) : 0; }
};

}  // namespace sten
