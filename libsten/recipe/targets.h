// Which weights the entries of a recipe's sparsity name.
#pragma once
#include "libsten/graph/graph.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// For each entry the names of its weights, in their natural order. What matches of rank below 2
// (biases, norms) is left out. Error (usage) with the place: a broken expression; a target that
// names nothing, with what is near, or nothing else; a weight that two entries name.
std::vector<std::vector<std::string>> match_targets(const std::vector<SparsityRecipe>& entries,
                                                    const std::vector<Weight>& weights);

}  // namespace sten
