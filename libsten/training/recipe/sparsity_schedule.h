// SPDX-License-Identifier: Apache-2.0
// Sparsity schedules: the sparsity of each stage.
#pragma once
#include <limits>
#include <string_view>
#include <vector>

#include "libsten/training/recipe/recipe.h"

namespace sten {

// from, from + step, ..., the last one clipped to `to`. All are within [0, 1]. Error (usage) with
// the reason: `to` below `from`, a step outside of (0, 1], or too many stages.
std::vector<double> iterative_sparsities(double from, double to, double step);

// For t = 1, ..., T = stages, from a to b:
//   linear        a + (b - a) t/T
//   cubic         b + (a - b) (1 - t/T)^3 (Zhu and Gupta 2017, "To prune, or not to prune")
//   exponential   1 - (1 - a)^(1 - t/T) (1 - b)^(t/T): a constant share of the remaining elements
// The last one is b itself. Error (usage) as above, and for an exponential schedule with b = 1.
std::vector<double> gradual_sparsities(std::string_view kind, double from, double to, Index stages);

// The step of a stage that has not been decided.
inline constexpr Index undecided_step = std::numeric_limits<Index>::max();

// Before the forward pass of `step`, the weight gets the positions that `by` selects.
struct SparsityStage {
  Index step = 0;
  Spec by;
};

// The length of a round in steps, of a schedule that prunes n weights until recovery: all rounds of
// all weights fit between begin and end, floor((end - begin) / (n * rounds)). Error (usage) if that
// is 0.
Index steps_per_round(const ScheduleRecipe& by, Index n);

// The stages of the k-th of n weights of an entry, in natural order of names; at least one,
// ascending. Stage i of m starts at begin + floor(i * (end - begin) / m); end = 0 means all steps.
// Layer-wise there are n stages, one of which is this weight's; its step is undecided_step if it
// depends on losses. Error (usage) if begin or end are
// outside of the steps, or two stages would start in the same step.
std::vector<SparsityStage> sparsity_stages(const SparsityRecipe& entry, Index k, Index n,
                                           Index steps);

// The key of a sparsifier's sparsity in its spec: "sparsity" or "fraction". Error (usage) if there
// is none.
std::string sparsity_key(const Spec& sparsifier);

}  // namespace sten
