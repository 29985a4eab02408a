// SPDX-License-Identifier: Apache-2.0
// Parts of a graph as graphs of their own.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

struct Subgraph {
  // Without outputs. Inputs are the graph's inputs and values of other nodes that the nodes use.
  GraphParts parts;
  // Their numbers in the graph, in the order of `parts`.
  std::vector<std::size_t> inputs, weights;
};

// The nodes for which `has` is true, by node.
Subgraph subgraph(const Graph& g, const std::vector<bool>& has);

// By the number of a value: the last node before `end` that uses it; 0 without one. Outputs of the
// graph do not count.
std::vector<std::size_t> last_uses_before(const Graph& g, std::size_t end);

}  // namespace sten
