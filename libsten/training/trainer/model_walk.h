// SPDX-License-Identifier: Apache-2.0
// Calibration along a model: prunes each layer by its inputs in the pruned model, in bounded memory.
#pragma once
#include <functional>

#include "libsten/compute/calibrate/layer.h"
#include "libsten/model/graph/graph.h"
#include "libsten/training/trainer/activation_store.h"

namespace sten {

struct WalkRequest {
  const Graph& graph;
  const std::vector<NamedValues<Tensor>>& batches;  // of the graph's inputs
  ActivationStore& store;
  // Returns the dense values of a weight, BF16 or F32. Called again if later nodes have the weight.
  std::function<Tensor(const std::string& name)> weight;
  std::function<bool(const std::string& name)> is_wanted;
  bool needs_gram = false;
  // Whether layers get statistics of the dense model's inputs, too (InputStatistics::cross), which
  // runs both models. Otherwise the targets of a layer are its outputs on the same inputs.
  bool needs_targets = false;
  // Prunes a weight by its statistics; returns the weight to continue with, [out, in]. An expert
  // without tokens has statistics of 0 samples.
  std::function<Tensor(const std::string& name, const InputStatistics& inputs)> prune;
  // Called when weights were released: what they borrowed is no longer needed.
  std::function<void()> released = [] {};
  // Activations of at most so many bytes are stored before each layer, so that nothing is computed
  // again.
  Index most_stored_bytes = sten::most_stored_bytes;
};

struct WalkResult {
  Index positions = 0;      // samples of the first layer
  Index most_bytes = 0;     // peak of stored activations and statistics
  bool is_rounded = false;  // whether stored activations are BF16
};

// Runs the graph on the batches, and prunes each wanted weight at its first `linear` node, or as an
// expert of `mixture-of-experts` by the tokens that the pruned model routes to it. Weights without
// such a node are not pruned. Layers with the same input share its statistics.
//
// Activations are stored before each layer or, where they have more than most_stored_bytes, at points
// where few values are needed later, such as the sum after a block; what lies between is computed
// again for each layer, batch by batch. They are those of the pruned model and, with targets, those
// of the dense one, which does not depend on pruning: they are stored after the layers if they fit.
// Above 192 MiB in float32 activations are rounded to BF16. Weights are loaded when they are needed,
// and released at the next point.
WalkResult prune_along(const WalkRequest& request);

}  // namespace sten
