// Which implementations the nodes of a graph will take, without running it.
#pragma once
#include <optional>

#include "libsten/graph/graph.h"

namespace sten {

struct NodeRoute {
  std::string node;
  Name op;
  std::shared_ptr<const Plan> forward;
  std::shared_ptr<const Plan> backward;  // nullptr: no gradient goes through the node
};

// A weight as a node gets it, and the format of its gradient; none: it is not trained.
struct WeightRoute {
  Name layout{"dense"};
  std::optional<OutFormat> grad = OutFormat::dense();
};

// In the order of the nodes, as a tape runs them, on the CPU: gradients go from `from`, a node, back
// to the weights. Inputs and constants are dense. Error (usage) where `from` names no node, and where
// an operator has no implementation.
std::vector<NodeRoute> node_routes(const Graph& g, const NamedValues<WeightRoute>& weights,
                                   const std::string& from);

// One line for each plan, in the order of the first nodes that take it: "linear(dense, masked,
// dense) -> keep-all/dense: exact: layers.0 and 2 more".
std::vector<std::string> route_lines(const std::vector<NodeRoute>& routes);

}  // namespace sten
