// Report of a staged run: its plan and its results.
#pragma once
#include "libsten/files/checkpoint/other_weights.h"
#include "libsten/programs/staged/schedule.h"
#include "libsten/programs/staged/stage_report.h"
#include "libsten/programs/staged/staged_options.h"

namespace sten {

// The plan before the first stage.
struct StagedPlan {
  const StagedOptions& options;
  const Schedule schedule;
  std::string to = {};                  // final layout
  std::vector<std::string> names = {};  // of selected tensors, in natural order
  Index elements = 0;                   // of selected tensors
  std::size_t stages = 0;
  LeftBehind left = {};         // in the input's directory
  std::string part_taken = {};  // part of a pipeline that was read
  std::string left_alone = {};  // in one line, and per tensor
  std::vector<std::string> skipped_rows = {};
};

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
