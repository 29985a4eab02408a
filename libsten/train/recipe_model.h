// The models that a recipe describes without a file.
#pragma once
#include "libsten/graph/graph.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// Of the kinds mlp, resnet and wide-resnet: from "x" to logits.
Graph recipe_model(const ModelRecipe& m);

}  // namespace sten
