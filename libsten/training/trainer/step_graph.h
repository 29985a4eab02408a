// SPDX-License-Identifier: Apache-2.0
// The training graph of a step, with the recipe's formats of values and gradients.
#pragma once
#include "libsten/compute/product/device_gemm.h"
#include "libsten/model/graph/graph.h"
#include "libsten/training/optim/parameter.h"
#include "libsten/training/task/task.h"
#include "libsten/training/trainer/segmented_graph.h"
#include "libsten/training/trainer/step_exchange.h"

namespace sten {

class StepGraph {
 public:
  // For a run on `device`. Error as training_graph(). The task must outlive this object.
  StepGraph(const Task& task, Device device);

  // Sets the formats of a step.
  void begin(Index step);
  // The next step does not follow the last one.
  void restart() { has_formats_ = false; }

  const Graph* operator->() const { return &graph_; }
  // The graph in segments, as the recipe asks. `inputs`: for the shapes of values.
  const SegmentedGraph& segments(const NamedValues<Tensor>& inputs);
  const std::string& loss() const { return loss_; }             // the output to minimise
  const kernels::Factors& factors() const { return factors_; }  // of products on the device

  // The format of the gradient of weight i, whose value is w, on the tape. all_positions: also
  // those that w prunes. `own`: where a format that the recipe does not ask for is written.
  const OutFormat& gradient_format(std::size_t i, const Tensor& w, bool all_positions,
                                   OutFormat& own) const;
  // A gradient of zeros in that format, on the device of w.
  Tensor zero_gradient(std::size_t i, const Tensor& w, bool all_positions) const;
  // Applies the formats that need the sum of all gradients.
  void format(StepExchange::Gradients& gradients, const std::vector<Parameter>& weights) const;

 private:
  bool is_formatted_by_tape(const OutFormat& gradient, const Tensor& w) const;

  const Task& task_;
  const kernels::Factors factors_;
  const Graph plain_;                       // with moments
  Graph graph_;                             // plain_ with the formats of this step
  std::optional<SegmentedGraph> segments_;  // of graph_
  bool has_formats_ = false;
  std::string loss_;
};

}  // namespace sten
