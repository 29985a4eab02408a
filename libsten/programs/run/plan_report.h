// SPDX-License-Identifier: Apache-2.0
// Report on the execution plan of a run.
#pragma once
#include "libsten/model/execution/executor.h"
#include "libsten/model/execution/fastest_layouts.h"
#include "libsten/report/report.h"

namespace sten {

// Sums over the plans of batches. Plans of one shape have the same steps.
class PlanSums {
 public:
  // Adds the times of the plan's last run.
  void add(const ExecutionPlan& plan);
  // Replaces the report's rows by the steps: layout and its reason, time in all batches, operations
  // and bytes per second, and the times of other candidates if the layout was chosen.
  void explain(const std::vector<LayoutChoice>& choices, Report& r) const;

 private:
  std::vector<ExecutionStep> steps_;
  Index batches_ = 0;
  Index weight_bytes_ = 0, live_bytes_ = 0, peak_bytes_ = 0;  // maxima over batches
};

}  // namespace sten
