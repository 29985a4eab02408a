// SPDX-License-Identifier: Apache-2.0
// A part of a graph that is run on the stored activations of a batch.
#pragma once
#include <functional>
#include <optional>

#include "libsten/model/execution/executor.h"
#include "libsten/training/trainer/activation_store.h"

namespace sten {

// Values of one batch, by number.
class BatchValues {
 public:
  // The stored values in float32, and the inputs of the graph.
  BatchValues(BatchActivations stored, const Graph& g, const NamedValues<Tensor>& inputs);

  const Tensor& operator[](std::size_t value) const { return values_.at(value); }
  void set(std::size_t value, Tensor x) { values_.insert_or_assign(value, std::move(x)); }
  BatchActivations part(const std::vector<std::size_t>& wanted) const;

 private:
  BatchActivations values_;
};

// The nodes from `begin` on that compute the values `wanted`, as a graph of its own, with fused
// operators.
class Segment {
 public:
  // `stored` returns a weight or constant by its number.
  Segment(const Graph& g, std::size_t begin, const std::vector<std::size_t>& wanted,
          const std::function<const Tensor&(std::size_t value)>& stored);

  // Computes the wanted values that are values of the nodes.
  void run(BatchValues& values);

 private:
  std::vector<std::pair<std::string, std::size_t>> inputs_, outputs_;  // names and numbers
  std::optional<Graph> graph_, fused_;                                 // none without nodes
  NamedValues<Tensor> weights_;
  std::optional<Executor> executor_;
};

}  // namespace sten
