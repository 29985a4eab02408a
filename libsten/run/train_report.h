// What is said of a training run, to people and to programs.
#pragma once
#include "libsten/report/report.h"
#include "libsten/train/run_directory.h"

namespace sten {

// A run that is over, with the weights that it gives.
struct TrainedModel {
  const Task& task;
  const std::vector<WeightStages>& stages;
  NamedValues<Tensor> weights;  // in the layouts of the file
  RunManifest record;
  Measured validation, test;  // of these weights
  Index step = 0;             // after which they came
  std::vector<MetricsLine> metrics{};
  std::string path{};                // of the file
  std::vector<std::string> notes{};  // of what else was written, and what was not
  GradientTraffic traffic{};         // of the last step; none: one rank, or no step
};

// The chart is train_curve() of the metrics.
Report train_report(const TrainedModel& m);
// Loss and sparsity against the step, as SVG.
std::string train_curve(const std::string& title, const std::vector<MetricsLine>& metrics);

}  // namespace sten
