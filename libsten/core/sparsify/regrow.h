// SPDX-License-Identifier: Apache-2.0
// regrow: drops the smallest weights and grows others by their gradient (RigL).
#pragma once
#include "libsten/core/sparsify/sparsifier.h"

namespace sten {

// RigL (Evci et al. 2020), applied to Hints::pattern: drops the `fraction` of the kept elements
// with the smallest magnitude, and grows as many positions with the largest magnitude of
// Hints::scores, the gradient. A dropped position may grow again. Among equal magnitudes, later
// elements are dropped first and earlier ones grow first.
struct Regrow {
  static constexpr const char* name = "regrow";
  static constexpr bool needs_scores = true, needs_pattern = true;
  double fraction = 0.3;

  Mask select(const Dense& x, const Hints& h) const;
};

}  // namespace sten
