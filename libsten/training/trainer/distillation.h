// SPDX-License-Identifier: Apache-2.0
// Distillation: training on the logits of a dense teacher (Hinton, Vinyals, Dean 2015) and on its
// hidden states (TinyBERT, Jiao et al. 2020), besides the labels.
#pragma once
#include "libsten/training/task/task.h"

namespace sten {

// The graph whose last output is minimised: the task's graph with the recipe's label smoothing and,
// with a teacher, its losses added in another output. Teacher::values() gives the inputs that the
// task's graph lacks. Error (usage) with the recipe's key for hidden states that name no value of
// the graph.
Graph training_graph(const Task& task);

// A frozen model with the task's graph.
class Teacher {
 public:
  // Error as Task::stored_weights(); Error (usage) if the recipe names no weights.
  explicit Teacher(const Task& task, Device device = Device::cpu);

  // The training graph's inputs from the teacher for a part of a batch, which is given with its inputs
  // on the CPU and on the teacher's device.
  NamedValues<Tensor> values(const BatchPart& part, const BatchPart& on_device) const;
  Index bytes() const;  // of the weights
  // Hash of the weights, as text.
  const std::string& content() const { return content_; }

 private:
  Graph graph_;
  NamedValues<Tensor> weights_;
  bool has_padding_;
  std::string content_;
};

}  // namespace sten
