// SPDX-License-Identifier: Apache-2.0
// Report of a staged run: its plan and its results.
#pragma once
#include "libsten/programs/staged/stage_report.h"
#include "libsten/programs/staged/staged_plan.h"

namespace sten {

// The outcome of a dry run.
Outcome planned_outcome(const StagedPlan& plan);

struct StagedResult {
  const std::vector<StageManifest>& records;  // of stages 1, 2, ...
  std::optional<double> first_loss;           // on the input
  double sparsity;                            // of all selected tensors
  const Outcome& last;                        // of the run that wrote the output
  std::string trainer;                        // the trainer's name in messages
};
Outcome staged_outcome(const StagedPlan& plan, const StagedResult& result);

}  // namespace sten
