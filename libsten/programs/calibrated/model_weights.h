// SPDX-License-Identifier: Apache-2.0
// The weights of a model that calibration runs, read from its file when they are needed.
#pragma once
#include <memory>

#include "libsten/model/nn/weights.h"
#include "libsten/training/task/task.h"

namespace sten {

class ModelWeights {
 public:
  // The weights of the graph that the task measures, which must outlive the object. Error (input)
  // if the file does not fit the graph.
  explicit ModelWeights(const Task& task);

  // Without the loss.
  const Graph& graph() const { return graph_; }
  // A weight in its stored layout; BF16 stays BF16.
  Tensor load(const std::string& name);
  // All weights, in float32.
  NamedValues<Tensor> all();
  // Sets the values that a weight has from now on.
  void replace(const std::string& name, Tensor x) {
    replaced_.insert_or_assign(name, std::move(x));
  }
  // Releases the memory of the file.
  void release();

 private:
  Graph graph_;
  std::unique_ptr<StoredWeights> file_;  // or
  NamedValues<Tensor> in_memory_;        // all weights of an ONNX model
  NamedValues<Tensor> replaced_;
};

}  // namespace sten
