// SPDX-License-Identifier: Apache-2.0
// Options of sten-prune --schedule.
#pragma once
#include <functional>

#include "libsten/programs/plan/prune_options.h"
#include "libsten/training/recipe/recovery.h"

namespace sten {

// The trainer between stages: a command, or the built-in trainer.
struct StageTrainerOptions {
  std::string finetune;                // for /bin/sh, with placeholders {in} {out} {mask} {metrics}
                                       // {sparsity} {stage}
  double finetune_timeout = 0;         // seconds; 0: no limit
  std::string recipe;                  // instead of a command
  std::vector<std::string> overrides;  // of the recipe: key=value
};

struct StagedOptions {
  PruneOptions prune;                   // input, output, selection; the structure if there is one
  std::string schedule;                 // see schedule.h
  std::vector<std::string> structures;  // as given: one per stage, or the only one
  StageTrainerOptions trainer;
  std::string state;  // directory of the stages
  bool resume = false;
  RecoveryRule recovery;  // layer-wise; a layer without a lower loss ends the run
  std::function<void(const std::string&)> say;  // called with a line after each stage
};

}  // namespace sten
