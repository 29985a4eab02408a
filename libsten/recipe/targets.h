// Which weights the entries of a recipe's sparsity name.
#pragma once
#include "libsten/graph/graph.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// For each entry the names of its weights, in their natural order. What a glob matches of rank
// below 2 (biases, norms) is left out. Error (usage) with the entry's place: a target that names
// nothing, with what is near; a weight that two entries name; a name of a weight of rank below 2.
std::vector<std::vector<std::string>> match_targets(const std::vector<SparsityRecipe>& entries,
                                                    const std::vector<Weight>& weights);

}  // namespace sten
