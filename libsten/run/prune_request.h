// What the options of sten-prune come to for each tensor.
#pragma once
#include "libsten/run/tensor_plan.h"

namespace sten {

enum class Nan { error, keep, zero };

// The options checked for themselves, before any file is read: Error (usage).
class PruneRequest {
 public:
  explicit PruneRequest(const PruneOptions& options);

  const Options& values() const { return values_; }  // those that decide values, canonical
  Nan nan() const { return nan_; }
  std::string text() const;   // of the default treatment, for reports
  std::string to() const;     // the layout it leads to
  std::string scope() const;  // local, row or global

  struct TensorPlans {
    std::vector<std::optional<TensorPlan>> tensors;  // none: left as it is
    Index chosen = 0;
    Index skipped = 0;            // matched by a glob, but nothing that can be pruned
    std::vector<SkipReason> why;  // of a selection by default, those without a treatment
  };
  // For the tensors of a checkpoint; `masks` if a file of them is to be applied.
  TensorPlans plans(const Checkpoint& in, const Checkpoint* masks) const;

 private:
  void check_scores();
  void check_calibration();
  void plan_by_masks(const Checkpoint& in, const Checkpoint& masks, TensorPlans& out) const;
  void plan_by_rules(const Checkpoint& in, TensorPlans& out) const;

  const PruneOptions& options_;
  std::optional<TensorPlan> default_;  // none: rules or masks alone decide
  std::vector<Rule> rules_;
  std::vector<std::optional<TensorPlan>> plans_;  // of the rules; none: keep
  Spec mask_to_;
  Options values_;
  Nan nan_ = Nan::error;
};

}  // namespace sten
