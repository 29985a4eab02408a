// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/loss_of_changes.h"

#include "libsten/training/task/predictions.h"

namespace sten {
namespace {

std::vector<NamedValues<Tensor>> inputs_of(const std::vector<BatchPart>& parts, const Graph& g) {
  std::vector<NamedValues<Tensor>> all;
  for (const BatchPart& part : parts) {
    NamedValues<Tensor>& inputs = all.emplace_back();
    for (const std::string& name : g.inputs()) inputs.emplace(name, part.inputs.at(name));
  }
  return all;
}

}  // namespace

LossOfChanges::LossOfChanges(StreamedModel::Source source, const std::vector<BatchPart>& parts,
                             std::string labels)
    : graph_(source.graph),
      parts_(parts),
      labels_(std::move(labels)),
      model_(std::move(source), inputs_of(parts, graph_)),
      at_(model_.first()) {}

double LossOfChanges::with(const std::string& weight, const Tensor& x) {
  const std::size_t segment = model_.segment_of(weight);
  if (segment == model_.segments()) return unchanged();
  if (segment < at_.segment) at_ = model_.first();
  for (BatchRunner weights = model_.weights(); at_.segment < segment;)
    model_.run_segment(weights, at_, {});
  BatchRunner changed = model_.weights();
  changed.replace(graph_.number_of(weight), x);
  return loss(std::move(changed));
}

double LossOfChanges::loss(BatchRunner weights) const {
  PredictionSums sums;
  const std::size_t logits = graph_.output_values().front();
  model_.run(std::move(weights), at_,
             [&](std::size_t, std::size_t batch, const BatchValues& values) {
               sums += predictions_of(values[logits].dense.to_dense(),
                                      parts_[batch].inputs.at(labels_).as<Dense>());
             });
  return sums.measured().loss;
}

}  // namespace sten
