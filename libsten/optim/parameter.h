// The weight that an optimizer changes, and the ways to change it.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "libsten/sparsify/sparsifier.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// A weight and its optimizer's state.
struct Parameter {
  explicit Parameter(Tensor value) : value(std::move(value)) {}
  Parameter(std::string name, Tensor value) : name(std::move(name)), value(std::move(value)) {}

  std::string name;  // for messages, and for the names of its state in a checkpoint
  Tensor value;
  // By the optimizer's names, such as "momentum"; empty before the first step. Dense, in the
  // weight's dtype: of its shape where the weight is dense or masked, else one number for each of
  // its values() in their order. To go on where training stopped, put back what was here.
  std::map<std::string, Tensor, std::less<>> state;
};

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

  const std::optional<Sparsifier>& sparsifier() const { return by_; }
  const std::optional<Dense>& scores() const { return scores_; }
  double gradient_scale() const { return gradient_scale_; }

 private:
  std::optional<Sparsifier> by_;
  std::optional<Dense> scores_;
  double gradient_scale_ = 1;
};

}  // namespace sten
