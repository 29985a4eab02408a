// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/weight_allocation.h"

#include <fmt/format.h>

#include <algorithm>

namespace sten {

void WeightAllocation::add(const CalibratedWeight& w, const Dense& x, const InputStatistics& inputs,
                           double more_loss) {
  weights_.push_back(&w);
  if (by_ == AllocationMethod::owl) {
    outliers_.push_back(layer_outliers(x, inputs, w.how));
    return;
  }
  LayerCurve& c = curves_.emplace_back(layer_curve(x, inputs, w.how));
  if (!needs_loss()) return;
  // The curve gives the growth of a loss with the sparsity; the loss gives its scale.
  const double error = error_at(c, sparsity_);
  const double by = error > 0 ? std::max(more_loss, 0.0) / error : 0;
  for (double& e : c.errors) e *= by;
}

void WeightAllocation::settle() {
  if (!is_wanted()) return;
  const std::vector<double> at = by_ == AllocationMethod::owl
                                     ? allocate_by_outliers(outliers_, sparsity_)
                                     : allocate_by_error(curves_, sparsity_);
  for (std::size_t i = 0; i < at.size(); ++i) at_.emplace(weights_[i]->tensor->name, at[i]);
}

CalibratedOptions WeightAllocation::of(const CalibratedWeight& w) const {
  CalibratedOptions how = w.how;
  if (const auto at = at_.find(w.tensor->name); at != at_.end())
    how.structure.set("sparsity", fmt::format("{}", at->second));
  return how;
}

}  // namespace sten
