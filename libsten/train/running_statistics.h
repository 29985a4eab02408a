// Running means and variances of batch norms, as training goes on.
#pragma once
#include "libsten/comm/communicator.h"
#include "libsten/graph/graph.h"
#include "libsten/optim/parameter.h"

namespace sten {

// What the batches of a step have for a graph's statistics, until the step's weights are written.
class StatisticsOfStep {
 public:
  explicit StatisticsOfStep(const Graph& g) : graph_(g) {}

  // Of a part of the batch, from what the graph of with_moments() gave. As in PyTorch each part
  // counts as a batch.
  void add(Index part, const NamedValues<Var>& outputs);
  // Every rank gets what each of them has, of `parts` parts in all.
  void exchange(Communicator& ranks, Index parts);
  // Moves the weights, which are in the order of the graph's.
  void apply(std::vector<Parameter>& weights) const;

 private:
  const Graph& graph_;
  std::map<Index, NamedValues<Tensor>> parts_;  // by the moments' names
};

// g, whose outputs are followed by the moments that its statistics follow.
Graph with_moments(const Graph& g);

}  // namespace sten
