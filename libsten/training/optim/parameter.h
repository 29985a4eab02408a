// SPDX-License-Identifier: Apache-2.0
// Updates: handling of a weight's positions and gradient in an optimizer step.
#pragma once
#include <optional>
#include <span>

#include "libsten/compute/autograd/parameter.h"
#include "libsten/core/sparsify/sparsifier.h"

namespace sten {

// Options of a step in addition to the optimizer's.
class Update {
 public:
  // Keeps the positions of a sparse weight; computes nothing else and densifies nothing.
  Update() = default;
  static Update same_pattern() { return {}; }
  // Updates all positions, pruned ones from 0, then selects again by `by` for the weight's layout,
  // and sets the state of pruned positions to 0. Requires a dense gradient; weight and state are
  // dense during the step. A sparsifier that needs scores gets `scores`, by default
  // Sparsifier::scores_of() of this weight and gradient.
  static Update resparsify(Sparsifier by, std::optional<Dense> scores = {}) {
    Update u;
    u.by_ = std::move(by);
    u.scores_ = std::move(scores);
    return u;
  }
  // Multiplies the gradient by a factor, for clipping without a pass of its own.
  Update& scale_gradient(double by) {
    gradient_scale_ = by;
    return *this;
  }
  // The same for a weight on a device, with the only element of an array on that device.
  Update& scale_gradient(Array<float> by) {
    scale_on_device_ = std::move(by);
    return *this;
  }

  const std::optional<Sparsifier>& sparsifier() const { return by_; }
  const std::optional<Dense>& scores() const { return scores_; }
  double gradient_scale() const { return gradient_scale_; }
  // The factor on the device; empty if there is none.
  const Array<float>& scale_on_device() const { return scale_on_device_; }

 private:
  std::optional<Sparsifier> by_;
  std::optional<Dense> scores_;
  double gradient_scale_ = 1;
  Array<float> scale_on_device_;
};

struct ParameterStep {
  Parameter* parameter;
  const Tensor* gradient;
  const Update* update;
};

}  // namespace sten
