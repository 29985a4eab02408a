// SPDX-License-Identifier: Apache-2.0
// The weights of a model that calibration runs, read from its file when they are needed.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "libsten/model/nn/weights.h"
#include "libsten/training/task/task.h"
#include "libsten/training/trainer/streamed_model.h"

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
  // Changes the values of a weight from now on, each time that they are loaded.
  using Change = std::function<Dense(const Dense&)>;
  void change(const std::string& name, Change by) {
    changes_.insert_or_assign(name, std::move(by));
  }
  // The graph with load(), whose released() also empties the memory pool. The object must outlive it.
  StreamedModel::Source source();

 private:
  Graph graph_;
  std::unique_ptr<StoredWeights> file_;  // or
  NamedValues<Tensor> in_memory_;        // all weights of an ONNX model
  std::map<std::string, Change> changes_;
};

}  // namespace sten
