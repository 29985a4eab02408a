// SPDX-License-Identifier: Apache-2.0
// Graphs for inference, and subgraphs of some outputs.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

// Returns g without dropouts; batch norms with running statistics use these instead of their
// batch's moments. Weights and outputs are those of g; unused inputs, such as dropout seeds, are
// removed.
Graph inference_graph(const Graph& g);

// Momenta of running statistics, by name of the running mean.
using Momenta = std::map<std::string, double, std::less<>>;

// The inverse for batch norms: they use the moments of their batch, which their running statistics
// follow, with PyTorch's unbiased variance. Absent momenta are 0.1. Error (usage) if running
// statistics are not weights, or two batch norms share them.
Graph train_batch_norms(const Graph& g, const Momenta& momenta = {});

// The name, extended if the graph has it already.
std::string new_name(std::string name, const Graph& g);

// Keeps only these outputs, and removes nodes, inputs, constants and statistics that they do not
// depend on.
// Weights stay, since they are saved in any case.
void prune_to_outputs(GraphParts& g, std::vector<std::string> outputs);
// The graph with its first output alone: the logits of a model without the loss.
Graph without_loss(const Graph& g);

}  // namespace sten
