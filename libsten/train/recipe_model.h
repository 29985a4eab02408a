// The models that a recipe describes without a file.
#pragma once
#include "libsten/graph/graph.h"
#include "libsten/nn/bert.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// Of the kinds mlp, resnet and wide-resnet: from "x" to logits.
Graph recipe_model(const ModelRecipe& m);

// What a BERT learns from such data.
BertHead head_of(const DataRecipe& d);

}  // namespace sten
