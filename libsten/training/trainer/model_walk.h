// Calibration node by node: prunes each linear layer by its inputs in the pruned model.
#pragma once
#include <functional>

#include "libsten/compute/calibrate/layer.h"
#include "libsten/model/graph/graph.h"

namespace sten {

struct WalkResult {
  Index positions = 0;   // samples of the first layer
  Index most_bytes = 0;  // peak of values and statistics
};

// Prunes weight `name` by its statistics; returns the weight to continue with, [out, in].
using PruneWeight = std::function<Tensor(const std::string& name, const InputStatistics& inputs)>;

// Runs `graph` on `batches` of its inputs, and prunes each weight for which `is_wanted` at its
// first `linear` node. Values of all batches are kept until their last use: those of the dense
// model and, after the first pruned layer, those of the pruned model. Layers with the same input
// share its statistics. Weights without such a node are not pruned.
WalkResult prune_along(const Graph& graph, const NamedValues<Tensor>& weights,
                       const std::vector<NamedValues<Tensor>>& batches,
                       const std::function<bool(const std::string& name)>& is_wanted,
                       bool needs_gram, const PruneWeight& prune);

}  // namespace sten
