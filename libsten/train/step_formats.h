// The formats of values and gradients that a recipe names, step by step.
#pragma once
#include "libsten/graph/graph.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// Error (usage) with the place: a target that names nothing of its kind in g, or that another entry
// of the kind names, too, for some of the same steps; the gradient of a weight that has no fixed
// positions in training (straight-through, learned scores): such a result is needed whole.
void check_formats(const Recipe& r, const Graph& g);

// g with the formats that hold in that step, g being the model or what contains its nodes. A random
// sparsifier without a seed of its own draws anew in each step, and for each name.
Graph with_formats(const Graph& g, const Recipe& r, Index step);
// With those of intermediate values alone: what a model that is not being trained computes with.
Graph with_value_formats(const Graph& g, const Recipe& r, Index step);

// Whether other formats hold than in the step before, or have other random numbers.
bool formats_change(const Recipe& r, Index step);
// Whether those that hold in the step before hold in the last one, and no others do.
bool has_last_formats(const Recipe& r, Index step);

}  // namespace sten
