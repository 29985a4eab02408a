// SPDX-License-Identifier: Apache-2.0
// Models that a recipe describes without a file.
#pragma once
#include "libsten/model/graph/graph.h"
#include "libsten/model/nn/bert.h"
#include "libsten/training/recipe/recipe.h"

namespace sten {

// The graph of a model of kind mlp, resnet or wide-resnet, from "x" to logits.
Graph recipe_model(const ModelRecipe& m);

// The head of a BERT for such data.
BertHead head_of(const DataRecipe& d);

}  // namespace sten
