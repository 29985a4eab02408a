// SPDX-License-Identifier: Apache-2.0
// Formats of values and gradients in each step of a recipe.
#pragma once
#include "libsten/model/graph/graph.h"
#include "libsten/training/recipe/recipe.h"

namespace sten {

// Error (usage) with the recipe's key for a target that names nothing of its kind in g; for two
// entries of a kind that name the same target in the same step; and for the gradient of a weight
// without fixed positions during training (straight-through, learned scores), whose gradient must
// be complete.
void check_formats(const Recipe& r, const Graph& g);

// The sparsifier of a spec in a step. A random one without a seed gets a new seed per step and name;
// seed: the recipe's.
Sparsifier sparsifier_in_step(Spec by, const std::string& name, std::uint64_t seed, Index step);

// Returns g with the formats of a step; g contains the nodes of the model. Sparsifiers are those of
// sparsifier_in_step().
Graph with_formats(const Graph& g, const Recipe& r, Index step);
// As with_formats(), with the formats of values only, as for evaluation.
Graph with_value_formats(const Graph& g, const Recipe& r, Index step);

// Whether formats, or their random numbers, differ from those of the previous step.
bool formats_change(const Recipe& r, Index step);
// Whether the formats of the previous step are those of the last step.
bool has_last_formats(const Recipe& r, Index step);

}  // namespace sten
