// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters (LoRA, Hu et al. 2021) of the weights of a training run.
#pragma once
#include "libsten/model/graph/graph.h"
#include "libsten/training/recipe/recipe.h"

namespace sten {

// A weight with adapters computes as w + scale * b a, where w is not 0 (the operator lora).
struct LoraWeight {
  std::string weight, a, b;
};

// The graph with adapters for the weights that the recipe names, each before the first use of its
// weight. Their initial values are random for a, and 0 for b. Error (usage) with the key for a
// target that matches no matrix, or an adapter of a rank above the extents of its weight.
Graph with_lora(const Graph& g, const LoraRecipe& r);

// The adapters of such a graph, in the order of its nodes.
std::vector<LoraWeight> lora_weights(const Graph& g);

// The weight of the final model, in the layout and at the positions of w.
Tensor merged(const Tensor& w, const Tensor& a, const Tensor& b, const LoraRecipe& r);

}  // namespace sten
