// Graphs for inference, and subgraphs of some outputs.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

// Returns g without dropouts; batch norms with running statistics use these instead of their
// batch's moments. Weights and outputs are those of g; unused inputs, such as dropout seeds, are
// removed.
Graph inference_graph(const Graph& g);

// Keeps only these outputs, and removes nodes, inputs and constants that they do not depend on.
// Weights stay, since they are saved in any case.
void prune_to_outputs(GraphParts& g, std::vector<std::string> outputs);

}  // namespace sten
