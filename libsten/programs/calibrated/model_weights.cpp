// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/model_weights.h"

#include "libsten/core/base/memory_pool.h"
#include "libsten/model/graph/inference.h"

namespace sten {

ModelWeights::ModelWeights(const Task& task)
    : graph_(without_loss(task.measured_graph())), file_(task.weights_by_name()) {
  if (!file_) in_memory_ = task.stored_weights();
}

Tensor ModelWeights::load(const std::string& name) {
  Tensor x = file_ ? *file_->load(*graph_.find_weight(name)) : in_memory_.at(name);
  const auto at = changes_.find(name);
  return at == changes_.end() ? x : Tensor(at->second(x.to_dense()));
}

StreamedModel::Source ModelWeights::source() {
  return {graph_, [this](const std::string& name) { return load(name); },
          [this] {
            if (file_) file_->release();
            empty_memory_pool();
          }};
}

}  // namespace sten
