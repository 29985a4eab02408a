// SPDX-License-Identifier: Apache-2.0
// Schedules of the learning rate.
#pragma once
#include <span>

#include "libsten/training/recipe/recipe.h"

namespace sten {

// Returns the factor of the optimizer's rate in step t, 0 <= t < steps:
//   constant   1
//   step       factor^floor(t / every), as torch's StepLR
//   piecewise  that of the last point at or before t, 1 before the first
//   cosine     end + (1 - end) (1 + cos(pi (t - warmup) / (steps - warmup))) / 2;
//              1 while t < warmup
// While t < warmup, it is multiplied by (t + 1) / warmup. With r.rewind, t counts from the last of
// `stages` at or before t (ascending), and `steps` from there to the next stage.
double rate_factor(const RateRecipe& r, Index t, Index steps, std::span<const Index> stages = {});

}  // namespace sten
