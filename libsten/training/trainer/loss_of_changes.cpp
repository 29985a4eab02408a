// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/loss_of_changes.h"

#include <algorithm>

#include "libsten/core/tensor/low_floats.h"
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
    : source_(std::move(source)),
      parts_(parts),
      labels_(std::move(labels)),
      output_(source_.graph),
      model_(source_, inputs_of(parts, source_.graph), output_.input()),
      at_(model_.first()) {}

double LossOfChanges::with(const std::string& weight, const Tensor& x) {
  // The last segment is computed again for a weight of the last layer.
  const std::size_t segment = std::min(model_.segment_of(weight), model_.segments() - 1);
  if (segment < at_.segment) at_ = model_.first();
  for (BatchRunner weights = model_.weights(); at_.segment < segment;)
    model_.run_segment(weights, at_, {});
  BatchRunner changed = model_.weights();
  changed.replace(source_.graph.number_of(weight), x);
  return loss(std::move(changed),
              [&](const std::string& name) { return name == weight ? x : source_.weight(name); });
}

double LossOfChanges::loss(BatchRunner weights, const Load& head) const {
  std::vector<SlicedPredictions> predictions;
  for (const BatchPart& part : parts_)
    predictions.emplace_back(part.inputs.at(labels_).as<Dense>());
  std::vector<Tensor> inputs;
  model_.run(std::move(weights), at_,
             [&](std::size_t, std::size_t batch, const BatchValues& values) {
               const Tensor& x = values[output_.input()];
               if (!output_.has_layer()) return predictions[batch].add(x.to_dense());
               const Index bytes = 4 * size_of(x.shape()) * std::ssize(parts_);
               inputs.push_back(are_stored_rounded(bytes) ? rounded_to(DType::BF16, x) : x);
             });
  output_.run(head, inputs, [&](std::size_t batch, const Dense& logits) {
    predictions[batch].add(logits);
    if (batch + 1 == inputs.size()) source_.released();
  });
  PredictionSums sums;
  for (const SlicedPredictions& each : predictions) sums += each.sums();
  return sums.measured().loss;
}

}  // namespace sten
