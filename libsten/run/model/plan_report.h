// The plan of a run as a report.
#pragma once
#include "libsten/graph/executor.h"
#include "libsten/graph/fastest_layouts.h"
#include "libsten/report/report.h"

namespace sten {

// Plans of several batches, added up: those of one shape have the same steps.
class PlanSums {
 public:
  // What the plan's last run took.
  void add(const ExecutionPlan& plan);
  // Steps take the place of the report's rows: what runs in which layout and why, what it took in all
  // batches, how many operations and bytes of memory a second that are, and of a weight whose layout
  // was chosen what the others would take.
  void explain(const std::vector<LayoutChoice>& choices, Report& r) const;

 private:
  std::vector<ExecutionStep> steps_;
  Index batches_ = 0;
  Index weight_bytes_ = 0, live_bytes_ = 0, peak_bytes_ = 0;  // of the largest
};

}  // namespace sten
