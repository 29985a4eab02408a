// SPDX-License-Identifier: Apache-2.0
// Multi-layer perceptron.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

// Makes a graph from the input "x" [batch, sizes[0]] to [batch, sizes.back()]. Layer i is the node
// "layers.I" with weights "layers.I.weight" [sizes[i + 1], sizes[i]] and "layers.I.bias"; between
// layers, the operator `activation` is the node "layers.I.ACTIVATION". Initial weights are uniform
// in [-1 / sqrt(k), 1 / sqrt(k)) for k inputs, as in PyTorch. Error (usage) for fewer than two
// sizes, or a size below 1.
Graph mlp(const std::vector<Index>& sizes, const std::string& activation = "relu");

}  // namespace sten
