// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/calibration.h"

#include <algorithm>

#include "libsten/core/base/text.h"
#include "libsten/model/graph/inference.h"
#include "libsten/training/trainer/model_walk.h"

namespace sten {

NamedValues<Tensor> calibrated_weights(const Task& task, const NamedValues<Tensor>& weights,
                                       const LayerOptions& how, Index rows, Index first) {
  const Graph graph = without_loss(task.evaluation_graph());
  std::vector<NamedValues<Tensor>> batches;
  // The last batch of an epoch can have fewer rows, and batches without predictions have none.
  const Index most = first + rows + task.steps_per_epoch();
  Index seen = 0;
  for (Index step = first; seen < rows && step < most; ++step)
    for (const BatchPart& part : task.batch(step)) {
      NamedValues<Tensor>& batch = batches.emplace_back();
      for (const std::string& name : graph.inputs()) batch.emplace(name, part.inputs.at(name));
      seen += rows_of(part);
    }
  const bool has_new_values =
      std::ranges::any_of(how, [](const auto& one) { return computes_values(one.second); });
  NamedValues<Tensor> pruned;
  ActivationsInMemory store(batches.size());
  prune_along(
      {graph, batches, store, [&](const std::string& name) { return weights.at(name); },
       [&](const std::string& name) { return how.contains(name); }, has_new_values, has_new_values,
       [&](const std::string& name, const InputStatistics& inputs) {
         try {
           const CalibratedOptions& given = how.at(name);
           const CalibratedOptions options = inputs.samples > 0 ? given : without_inputs(given);
           Tensor w = prune_layer(weights.at(name).as<Dense>(), inputs, options).weights;
           return pruned.emplace(name, std::move(w)).first->second;
         } catch (const Error& e) {
           throw Error(e.fault(), fmt::format("{}: {}", quote(name), e.what()));
         }
       }});
  return pruned;
}

}  // namespace sten
