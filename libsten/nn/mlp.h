// Multi-layer perceptrons.
#pragma once
#include "libsten/graph/graph.h"

namespace sten {

// From the input "x" [batch, sizes[0]] to [batch, sizes.back()]. Layer i is the node "layers.I"
// with the weights "layers.I.weight" [sizes[i + 1], sizes[i]] and "layers.I.bias"; between layers
// there is the operator `activation`, the node "layers.I.ACTIVATION". Weights begin uniform in
// [-1 / sqrt(k), 1 / sqrt(k)) of k inputs, as PyTorch's do. Error (usage) for fewer than two sizes,
// and for one below 1.
Graph mlp(const std::vector<Index>& sizes, const std::string& activation = "relu");

}  // namespace sten
