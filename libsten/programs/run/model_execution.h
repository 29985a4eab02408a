// SPDX-License-Identifier: Apache-2.0
// Execution of a model with the precision and layouts of its options, and its times.
#pragma once
#include "libsten/programs/run/latency.h"
#include "libsten/programs/run/model_layouts.h"
#include "libsten/programs/run/plan_report.h"

namespace sten {

class ModelExecution {
 public:
  // Sets the layouts of `model` for `inputs`, which are unused without options.layouts. Options and
  // model must outlive this object. Error as read_precision() and set_layouts().
  ModelExecution(const ModelOptions& options, Device device, RunnableModel& model,
                 const NamedValues<Tensor>& inputs);

  NamedValues<Tensor> run(const NamedValues<Tensor>& inputs) { return executor_->run(inputs); }
  // As Executor's.
  NamedValues<Tensor> take_outputs() { return executor_->take_outputs(); }
  const ExecutionPlan& plan() const { return executor_->plan(); }
  // check_layouts() after a run with these inputs; no-op on a device.
  void check_speed(const NamedValues<Tensor>& inputs, bool measures);
  // Times further runs with the inputs of the last one, as the options ask.
  void time(const NamedValues<Tensor>& inputs, Index rows);

  const std::vector<SlowerLayout>& slower() const { return layouts_.slower; }
  // Adds layouts, precision, times and the plan.
  void add_to(Report& r) const;

 private:
  const ModelOptions& options_;
  const Device device_;
  const RunnableModel& model_;
  const std::vector<PrecisionRule> precision_;
  SetLayouts layouts_;
  std::optional<Executor> executor_;  // made after layouts are set
  Latency latency_;
  PlanSums plans_;
};

}  // namespace sten
