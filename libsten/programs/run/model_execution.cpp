// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/model_execution.h"

#include "libsten/core/base/cuda.h"
#include "libsten/programs/run/model_precision.h"

namespace sten {

ModelExecution::ModelExecution(const ModelOptions& options, Device device, RunnableModel& model,
                               const NamedValues<Tensor>& inputs)
    : options_(options),
      device_(device),
      model_(model),
      precision_(read_precision(options.precision, model.graph, model.name)) {
  if (!options.layouts.empty()) layouts_ = set_layouts(options.layouts, inputs, precision_, model);
  ExecutorOptions how{.device = device};
  how.precision = precision_;
  executor_.emplace(model.graph, model.weights, how);
}

void ModelExecution::check_speed(const NamedValues<Tensor>& inputs, bool measures) {
  if (device_ == Device::cpu)
    check_layouts(model_, inputs, precision_, executor_->plan(), measures, layouts_);
}

void ModelExecution::time(const NamedValues<Tensor>& inputs, Index rows) {
  const auto run_it = [&] {
    executor_->run(inputs);
    if (device_ != Device::cpu) wait_for_cuda();
  };
  // Excludes pending work from the time.
  if (device_ != Device::cpu) wait_for_cuda();
  executor_->time_steps(false);
  for (int k = 0; k < options_.repeats; ++k) latency_.add(rows, run_it);
  if (!options_.explain) return;
  // Steps are timed in a run of their own, since this takes time; the first run of a shape also
  // fills caches.
  executor_->time_steps(true);
  run_it();
  executor_->time_steps(false);
  plans_.add(executor_->plan());
}

void ModelExecution::add_to(Report& r) const {
  add_layouts(layouts_, r);
  add_precision_facts(options_.precision, r);
  latency_.add_to(r);
  if (options_.explain) plans_.explain(layouts_.measured, r);
}

}  // namespace sten
