// A model node by node on calibration data: each linear layer is pruned when it is reached, by the
// inputs that the pruned layers before it make.
#pragma once
#include <functional>

#include "libsten/calibrate/layer.h"
#include "libsten/graph/graph.h"

namespace sten {

struct WalkResult {
  Index positions = 0;   // samples that the first layer saw
  Index most_bytes = 0;  // of values that were held at one time, and of statistics
};

// Prunes weight `name`, given its statistics; returns what the graph goes on with, [out, in].
using PruneWeight = std::function<Tensor(const std::string& name, const InputStatistics& inputs)>;

// `batches` are inputs of the graph. Values are kept as long as a node needs them, for all batches,
// once as the dense model makes them and, behind the first layer that was pruned, as the pruned one
// does. Layers that take the same value share its statistics. Only weights for which `is_wanted` are
// pruned, each where it is first used by a node linear; returns without those that no such node takes.
WalkResult prune_along(const Graph& graph, const NamedValues<Tensor>& weights,
                       const std::vector<NamedValues<Tensor>>& batches,
                       const std::function<bool(const std::string& name)>& is_wanted,
                       bool needs_gram, const PruneWeight& prune);

}  // namespace sten
