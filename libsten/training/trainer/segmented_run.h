// SPDX-License-Identifier: Apache-2.0
// A training step along the segments of a graph.
#pragma once
#include <functional>
#include <memory>
#include <set>

#include "libsten/training/trainer/segmented_graph.h"

namespace sten {

struct StepWeight {
  Tensor value;
  std::optional<OutFormat> gradient{};  // none: not trained
  std::size_t number = 0;               // for the receiver
};

class SegmentedRun {
 public:
  // Runs the graph; the last segment is recorded. `graph` outlives the run.
  SegmentedRun(const SegmentedGraph& graph, NamedValues<StepWeight> weights,
               NamedValues<Tensor> inputs);

  // The outputs of the graph.
  const NamedValues<Tensor>& outputs() const { return outputs_; }
  // Passes the gradient of each trained weight to `to`, as soon as it is complete. `seed`: the
  // gradient of the output `loss`. Called once. The sum over several segments that use a weight is
  // rounded after each.
  using Receiver = std::function<void(std::size_t number, Tensor gradient)>;
  void backward(const std::string& loss, Tensor seed, const Receiver& to);

 private:
  // A segment on a tape, whose leaves are its trained weights and the stored values.
  struct Recording {
    Tape tape{};
    std::vector<std::string> leaves{};
    NamedValues<Var> outputs{};
  };
  NamedValues<Tensor> inputs_of(const Graph& g) const;
  void find_trained(const Graph& g);
  std::unique_ptr<Recording> record(const Graph& g) const;
  void add(const std::string& leaf, Tensor gradient);
  void finish(const std::string& weight, const Receiver& to);

  const SegmentedGraph& graph_;
  NamedValues<StepWeight> weights_;
  NamedValues<Tensor> values_;  // inputs, and values between segments
  NamedValues<Tensor> outputs_;
  NamedValues<Tensor> gradients_;  // of values between segments, and sums of weights
  NamedValues<Index> uses_;        // of trained weights: segments that have not run backward
  std::set<std::string, std::less<>> trained_;  // values that depend on trained weights
  std::unique_ptr<Recording> last_;
};

}  // namespace sten
