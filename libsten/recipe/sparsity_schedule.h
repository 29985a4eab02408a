// How sparsity comes about in stages.
#pragma once
#include <string_view>
#include <vector>

#include "libsten/recipe/recipe.h"

namespace sten {

// from, from + step, ..., the last one clipped to `to`. All within [0, 1]; Error (usage) that names
// what is wrong: `to` below `from`, a step that is not within (0, 1], or makes too many stages.
std::vector<double> iterative_sparsities(double from, double to, double step);

// At t = 1, ..., T = stages, from a to b:
//   linear        a + (b - a) t/T
//   cubic         b + (a - b) (1 - t/T)^3 (Zhu and Gupta 2017, "To prune, or not to prune")
//   exponential   1 - (1 - a)^(1 - t/T) (1 - b)^(t/T): always the same share of what is left
// The last is b itself. Error (usage) as above; and for an exponential one that ends at 1.
std::vector<double> gradual_sparsities(std::string_view kind, double from, double to, Index stages);

// Before the forward pass of that step a weight gets the positions that `by` selects.
struct SparsityStage {
  Index step = 0;
  Spec by;
};

// Those of the k-th of n weights that an entry's target names, in the natural order of names; at
// least one, ascending. Stage i of m begins at begin + floor(i * (end - begin) / m), where an end
// of 0 is that of all steps; layer-wise there are n stages in all, and one is this weight's. Error
// (usage) where the ends are not within the steps, or two stages would begin in the same one.
std::vector<SparsityStage> sparsity_stages(const SparsityRecipe& entry, Index k, Index n,
                                           Index steps);

// The key of a sparsifier's spec that says how much goes: "sparsity" or "fraction". Error (usage)
// where it has none.
std::string sparsity_key(const Spec& sparsifier);

}  // namespace sten
