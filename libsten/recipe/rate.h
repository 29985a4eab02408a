// How the learning rate changes while training.
#pragma once
#include <span>

#include "libsten/recipe/recipe.h"

namespace sten {

// What the optimizer's rate is multiplied by in step t of `steps`, 0 <= t < steps:
//   constant   1
//   step       factor^floor(t / every), as torch's StepLR
//   piecewise  that of the last point at or before t, 1 before the first
//   cosine     end + (1 - end) (1 + cos(pi (t - warmup) / (steps - warmup))) / 2;
//              1 while t < warmup
// and while t < warmup by (t + 1) / warmup too. With r.rewind it is that of as many steps after the
// last of `stages` at or before t, ascending, of as many as there are up to the next.
double rate_factor(const RateRecipe& r, Index t, Index steps, std::span<const Index> stages = {});

}  // namespace sten
