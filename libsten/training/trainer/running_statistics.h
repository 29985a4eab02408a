// SPDX-License-Identifier: Apache-2.0
// Running statistics of batch norms during training.
#pragma once
#include "libsten/model/graph/graph.h"
#include "libsten/training/comm/communicator.h"
#include "libsten/training/optim/parameter.h"

namespace sten {

// Moments of a step's batches, collected until the weights are updated.
class StatisticsOfStep {
 public:
  explicit StatisticsOfStep(const Graph& g) : graph_(g) {}

  // Adds the moments of a part of the batch from outputs of with_moments()'s graph. Each part
  // counts as a batch, as in PyTorch.
  void add(Index part, const NamedValues<Tensor>& outputs);
  // Gathers the moments of all `parts` parts on every rank.
  void exchange(Communicator& ranks, Index parts);
  // Updates the running statistics in the weights, which have the order of the graph.
  void apply(std::vector<Parameter>& weights) const;

 private:
  const Graph& graph_;
  std::map<Index, NamedValues<Tensor>> parts_;  // by names of moments
};

// Returns g with the moments for its running statistics as further outputs.
Graph with_moments(const Graph& g);

}  // namespace sten
