// The plans of sten-prune for the tensors of a checkpoint.
#pragma once
#include "libsten/programs/plan/tensor_plan.h"

namespace sten {

// Checks the options before any file is read: Error (usage).
class PruneRequest {
 public:
  explicit PruneRequest(const PruneOptions& options);

  const Options& values() const { return values_; }  // options that decide values, canonical
  Nan nan() const { return options_.nan; }
  std::string text() const;   // of the default plan, for reports
  std::string to() const;     // its layout
  std::string scope() const;  // local, row or global

  struct TensorPlans {
    std::vector<std::optional<TensorPlan>> tensors;  // none: unchanged
    Index chosen = 0;
    Index skipped = 0;            // matched by a glob, but not prunable
    std::vector<SkipReason> why;  // skip reasons of a default selection
  };
  // Plans for the tensors of a checkpoint; `masks`: a file of masks to apply, or nullptr.
  TensorPlans plans(const Checkpoint& in, const Checkpoint* masks) const;

 private:
  void check_scores();
  void check_calibration();
  void plan_by_masks(const Checkpoint& in, const Checkpoint& masks, TensorPlans& out) const;
  void plan_by_rules(const Checkpoint& in, TensorPlans& out) const;

  const PruneOptions& options_;
  std::optional<TensorPlan> default_;  // none: only rules or masks apply
  std::vector<Rule> rules_;
  std::vector<std::optional<TensorPlan>> plans_;  // of the rules; none: keep
  Spec mask_to_;
  Options values_;
};

}  // namespace sten
