// A graph for training as it is when training is over.
#pragma once
#include "libsten/graph/graph.h"

namespace sten {

// g without its dropouts, and with the batch norms that have running statistics taking these in place
// of their batch's moments. Weights and outputs are those of g; inputs that nothing takes any more,
// such as the draws of dropouts, are gone.
Graph inference_graph(const Graph& g);

}  // namespace sten
