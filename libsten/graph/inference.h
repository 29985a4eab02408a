// What of a graph is left when training is over, or some of its outputs are wanted alone.
#pragma once
#include "libsten/graph/graph.h"

namespace sten {

// g without its dropouts, and with the batch norms that have running statistics taking these in place
// of their batch's moments. Weights and outputs are those of g; inputs that nothing takes any more,
// such as the draws of dropouts, are gone.
Graph inference_graph(const Graph& g);

// Takes away the nodes, inputs and constants that these outputs, the only ones from now on, do not
// depend on. Weights stay, since they are saved in any case.
void prune_to_outputs(GraphParts& g, std::vector<std::string> outputs);

}  // namespace sten
