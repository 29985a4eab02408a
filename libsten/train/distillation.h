// Learning from a dense model beside the labels: from its logits (Hinton, Vinyals, Dean 2015), and
// from its hidden states (as TinyBERT, Jiao et al. 2020).
#pragma once
#include "libsten/train/task.h"

namespace sten {

// What is minimised: the task's graph with the recipe's label smoothing, and with a teacher the
// output distillation_loss() last. Inputs that it has beside the task's come from Teacher::values().
// Error (usage) with the place for states that name no value, or one that is gone after training.
Graph training_graph(const Task& task);

// A model of the same graph, whose weights are frozen.
class Teacher {
 public:
  // Error as of Task::stored_weights(); Error (usage) where the recipe names no weights.
  explicit Teacher(const Task& task, Device device = Device::cpu);

  // What the training graph takes from it for a part of a batch, whose inputs are on its device.
  NamedValues<Tensor> values(const BatchPart& part) const;
  Index bytes() const;  // of its weights
  // A hash of them, as text.
  const std::string& content() const { return content_; }

 private:
  Graph graph_;
  NamedValues<Tensor> weights_;
  std::string content_;
};

}  // namespace sten
