// SPDX-License-Identifier: Apache-2.0
// Request: the checked options of sten-prune.
#pragma once
#include "libsten/programs/plan/prune_options.h"
#include "libsten/programs/plan/reorder.h"

namespace sten {

class PruneRequest {
 public:
  // Checks the options before any file is read but that of rules: Error (usage). Not explicit, so
  // that functions can be called with options.
  PruneRequest(const PruneOptions& options);
  // The same request for another input, without progress.
  PruneRequest on(const std::string& input, const OutputOptions& output) const;

  const PruneOptions& options() const { return options_; }
  const Options& values() const { return values_; }  // options that decide values, canonical
  // The plan of tensors without a rule; none: unchanged.
  const std::optional<TensorPlan>& default_plan() const { return default_; }
  // Rules and the plans of tensors that match; none: unchanged.
  const std::vector<std::pair<Rule, std::optional<TensorPlan>>>& rules() const { return rules_; }
  const std::vector<ReorderRule>& reorder() const { return reorder_; }
  bool has_rules() const { return !options_.rules.empty() || !options_.files.rules.empty(); }

  // Of the default plan, for reports.
  std::string text() const;
  const Spec& to() const { return default_ ? default_->to : options_.tensors.to; }
  PruneScope scope() const;

 private:
  void plan();
  void check_scores();
  void check_calibration();
  void add_values();

  PruneOptions options_;
  std::optional<TensorPlan> default_;
  std::vector<std::pair<Rule, std::optional<TensorPlan>>> rules_;
  std::vector<ReorderRule> reorder_;
  Options values_;
};

}  // namespace sten
