// SPDX-License-Identifier: Apache-2.0
// Allocation of the total sparsity over the weights of a checkpoint (--allocate).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "libsten/compute/calibrate/allocation.h"
#include "libsten/programs/calibrated/calibrated_weight.h"
#include "libsten/programs/plan/calibration_options.h"

namespace sten {

class WeightAllocation {
 public:
  // `sparsity`: over all weights. Without a method, all weights keep their sparsity.
  WeightAllocation(std::optional<AllocationMethod> by, double sparsity)
      : by_(by), sparsity_(sparsity) {}

  bool is_wanted() const { return by_.has_value(); }
  bool needs_loss() const { return by_ == AllocationMethod::sensitivity; }
  bool needs_gram() const { return by_ == AllocationMethod::error || needs_loss(); }
  // Adds a weight with values x and statistics of its layer's inputs. `more_loss`: the increase of
  // the model's loss if only this layer is pruned to the total sparsity, if needs_loss(). `w` must
  // outlive this object.
  void add(const CalibratedWeight& w, const Dense& x, const InputStatistics& inputs,
           double more_loss = 0);
  // Computes the allocation after all weights were added; no-op if !is_wanted().
  void settle();
  // Returns the options for w, with its allocated sparsity, if there is one.
  CalibratedOptions of(const CalibratedWeight& w) const;

 private:
  std::optional<AllocationMethod> by_;
  double sparsity_;
  std::vector<const CalibratedWeight*> weights_;
  std::vector<LayerCurve> curves_;
  std::vector<LayerOutliers> outliers_;
  std::map<std::string, double> at_;
};

}  // namespace sten
