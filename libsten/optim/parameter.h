// The ways in which an optimizer changes a weight.
#pragma once
#include <optional>
#include <span>

#include "libsten/autograd/parameter.h"
#include "libsten/sparsify/sparsifier.h"

namespace sten {

// What a step does beside the optimizer's rule.
class Update {
 public:
  // The positions that a sparse weight had: nothing else is computed, and nothing is made dense.
  Update() = default;
  static Update same_pattern() { return {}; }
  // All positions are updated, pruned ones from 0, and `by` selects anew, for the weight's layout.
  // What is remembered of pruned positions becomes 0. For that the gradient has to be dense; the
  // weight and its state are made dense for the step. A sparsifier that needs scores gets `scores`,
  // or else what it makes of this weight and gradient (Sparsifier::scores_of).
  static Update resparsify(Sparsifier by, std::optional<Dense> scores = {}) {
    Update u;
    u.by_ = std::move(by);
    u.scores_ = std::move(scores);
    return u;
  }
  // The gradient counts times this: clipping, without a pass of its own.
  Update& scale_gradient(double by) {
    gradient_scale_ = by;
    return *this;
  }
  // The same for a weight on a device, by the one number of an array there.
  Update& scale_gradient(Array<float> by) {
    scale_on_device_ = std::move(by);
    return *this;
  }

  const std::optional<Sparsifier>& sparsifier() const { return by_; }
  const std::optional<Dense>& scores() const { return scores_; }
  double gradient_scale() const { return gradient_scale_; }
  // Empty without one.
  const Array<float>& scale_on_device() const { return scale_on_device_; }

 private:
  std::optional<Sparsifier> by_;
  std::optional<Dense> scores_;
  double gradient_scale_ = 1;
  Array<float> scale_on_device_;
};

// One of several steps that an optimizer makes at once, each of another parameter.
struct ParameterStep {
  Parameter* parameter;
  const Tensor* gradient;
  const Update* update;
};

}  // namespace sten
