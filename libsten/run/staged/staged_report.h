// What a run in stages says of itself: its plan, and what came of it.
#pragma once
#include "libsten/io/other_weights.h"
#include "libsten/run/staged/schedule.h"
#include "libsten/run/staged/stage_report.h"
#include "libsten/run/staged/staged_prune.h"

namespace sten {

// What is known before any stage.
struct StagedPlan {
  const StagedOptions& options;
  const Schedule schedule;
  std::string to = {};                  // the layout at the end
  std::vector<std::string> names = {};  // of selected tensors, in natural order
  Index elements = 0;                   // theirs
  std::size_t stages = 0;
  LeftBehind left = {};         // of the input's directory
  std::string part_taken = {};  // of a pipeline
  std::string left_alone = {};  // in one line, and in one for each tensor
  std::vector<std::string> skipped_rows = {};
};

// Of a dry run.
Outcome planned_outcome(const StagedPlan& plan);

struct StagedResult {
  const std::vector<StageManifest>& records;  // of stages 1, 2, ...
  std::optional<double> first_loss;           // on the input
  double sparsity;                            // of all selected tensors
  const Outcome& last;                        // of what made the output
  std::string trainer;                        // as messages call it
};
Outcome staged_outcome(const StagedPlan& plan, const StagedResult& result);

}  // namespace sten
