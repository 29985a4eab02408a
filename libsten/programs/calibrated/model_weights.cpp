// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/model_weights.h"

#include "libsten/core/tensor/low_floats.h"
#include "libsten/model/graph/inference.h"

namespace sten {

ModelWeights::ModelWeights(const Task& task)
    : graph_(without_loss(task.measured_graph())), file_(task.weights_by_name()) {
  if (!file_) in_memory_ = task.stored_weights();
}

Tensor ModelWeights::load(const std::string& name) {
  if (const auto at = replaced_.find(name); at != replaced_.end()) return at->second;
  return file_ ? *file_->load(*graph_.find_weight(name)) : in_memory_.at(name);
}

NamedValues<Tensor> ModelWeights::all() {
  NamedValues<Tensor> all;
  for (const Weight& w : graph_.weights()) all.emplace(w.name, widened(load(w.name)));
  return all;
}

void ModelWeights::release() {
  if (file_) file_->release();
}

}  // namespace sten
