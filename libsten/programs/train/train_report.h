// SPDX-License-Identifier: Apache-2.0
// Report of a training run.
#pragma once
#include "libsten/report/report.h"
#include "libsten/training/trainer/run_directory.h"
#include "libsten/training/trainer/trainer.h"

namespace sten {

// A finished run and its final weights.
struct TrainedModel {
  const Task& task;
  const std::vector<WeightStages>& stages;
  NamedValues<Tensor> weights;  // in the layouts of the file
  RunManifest record;
  Measured validation, test;  // of these weights
  Index step = 0;             // step of these weights
  std::vector<MetricsLine> metrics{};
  std::string path{};                       // of the file
  std::vector<std::string> notes{};         // on files that were written or not
  GradientTraffic traffic{};                // of the last step; none: no step, or one rank that
                                            // does not compress
  std::vector<RecoveryState> recoveries{};  // after the last step
};

// The report, with train_curve() of the metrics as its main chart.
Report train_report(const TrainedModel& m);
// Chart of loss and sparsity by step.
Chart train_curve(const std::string& recipe, const std::vector<MetricsLine>& metrics);

}  // namespace sten
