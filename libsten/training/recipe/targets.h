// SPDX-License-Identifier: Apache-2.0
// The weights that the sparsity entries of a recipe name.
#pragma once
#include "libsten/model/graph/graph.h"
#include "libsten/training/recipe/recipe.h"

namespace sten {

// Returns for each entry the names of its weights in natural order, without tensors of rank below 2
// (biases, norms). Error (usage) with the key for an invalid expression, for a target that matches
// no weight (with similar names), and for a weight in two entries.
std::vector<std::vector<std::string>> match_targets(const std::vector<SparsityRecipe>& entries,
                                                    const std::vector<Weight>& weights);
// The same for one target, whose key errors start with.
std::vector<std::string> match_weights(const std::string& target,
                                       const std::vector<Weight>& weights, const std::string& key);

}  // namespace sten
