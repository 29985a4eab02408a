// SPDX-License-Identifier: Apache-2.0
// The loss of a model in which one weight has other values, in the memory of a StreamedModel.
#pragma once
#include <string>
#include <vector>

#include "libsten/training/task/task.h"
#include "libsten/training/trainer/sliced_output.h"
#include "libsten/training/trainer/streamed_model.h"

namespace sten {

class LossOfChanges {
 public:
  // The first output of the source's graph is the logits. `labels`: the name of those of the parts,
  // which must outlive the object.
  LossOfChanges(StreamedModel::Source source, const std::vector<BatchPart>& parts,
                std::string labels);

  // Mean loss over all predictions.
  double unchanged() const { return loss(model_.weights(), source_.weight); }
  // The same with the values x of a weight. Fastest in the order of the nodes: only the segment of
  // the weight and later ones are computed again.
  double with(const std::string& weight, const Tensor& x);

 private:
  using Load = std::function<Tensor(const std::string& name)>;
  // `head`: for the weights of the last layer.
  double loss(BatchRunner weights, const Load& head) const;

  StreamedModel::Source source_;
  const std::vector<BatchPart>& parts_;
  std::string labels_;
  SlicedOutput output_;
  StreamedModel model_;
  StreamedModel::State at_;  // of the unchanged model
};

}  // namespace sten
