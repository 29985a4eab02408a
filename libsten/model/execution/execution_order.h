// SPDX-License-Identifier: Apache-2.0
// Execution order: the graph's nodes in an order that allows more fusion.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten::execution {

struct ExecutionOrder {
  Graph graph;
  std::vector<std::string> outputs;  // the original names of this graph's outputs
};

// Moves nodes that do not depend on weights, such as masks and positions, to the front: exporters
// put them between embeddings and layers. Removes identities; an output that is an identity becomes
// its input.
ExecutionOrder execution_order(const Graph& g);

}  // namespace sten::execution
