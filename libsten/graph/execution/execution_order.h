// A graph as an executor runs it: in an order in which more nodes that can be fused follow each
// other.
#pragma once
#include "libsten/graph/graph.h"

namespace sten::execution {

struct ExecutionOrder {
  Graph graph;
  std::vector<std::string> outputs;  // what the given graph calls the outputs of this one
};

// What takes no weight, nor anything made of one, such as masks and positions, runs first: exporters
// have it between embeddings and layers. Identities are removed; an output that is one is the value
// that it repeats.
ExecutionOrder execution_order(const Graph& g);

}  // namespace sten::execution
