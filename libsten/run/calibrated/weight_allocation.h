// What --allocate says: how much each weight of a checkpoint loses, by what is known of all of them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "libsten/calibrate/allocation.h"
#include "libsten/run/calibrated/layer_source.h"

namespace sten {

class WeightAllocation {
 public:
  explicit WeightAllocation(const PruneOptions& o);

  bool is_wanted() const { return !by_.empty(); }
  bool needs_loss() const { return by_ == "sensitivity"; }
  bool needs_gram() const { return by_ == "error" || needs_loss(); }
  // A weight, its values x and what goes into its layer. `more_loss`: what the model's loss gains where
  // this layer alone is pruned to the sparsity of all; of needs_loss(). `w` is kept by address.
  void add(const CalibratedWeight& w, const Dense& x, const InputStatistics& inputs,
           double more_loss = 0);
  // After all weights were added; nothing where !is_wanted().
  void settle();
  // How to prune w, with the sparsity that it was given, if any.
  CalibratedOptions of(const CalibratedWeight& w) const;

 private:
  std::string by_;
  double sparsity_;
  std::vector<const CalibratedWeight*> weights_;
  std::vector<LayerCurve> curves_;
  std::vector<LayerOutliers> outliers_;
  std::map<std::string, double> at_;
};

}  // namespace sten
