// SPDX-License-Identifier: Apache-2.0
// Dispatch of a graph's nodes, without running the graph.
#pragma once
#include <optional>

#include "libsten/model/graph/graph.h"

namespace sten {

struct NodeRoute {
  std::string node;
  Name op;
  std::shared_ptr<const Plan> forward;
  std::shared_ptr<const Plan> backward;  // nullptr: no gradient
};

// A weight as a node's operand, and the format of its gradient; none: not trained.
struct WeightRoute {
  Name layout{"dense"};
  std::optional<OutFormat> grad = OutFormat::dense();
};

// Plans of the nodes in order, as a tape runs them on the CPU, with gradients from node `from` to
// the weights. Inputs and constants are dense. Error (usage) if `from` names no node, or an
// operator has no implementation.
std::vector<NodeRoute> node_routes(const Graph& g, const NamedValues<WeightRoute>& weights,
                                   const std::string& from);

// A line per plan, in the order of first use: "linear(dense, masked, dense) -> keep-all/dense:
// exact: layers.0 and 2 more".
std::vector<std::string> route_lines(const std::vector<NodeRoute>& routes);

}  // namespace sten
