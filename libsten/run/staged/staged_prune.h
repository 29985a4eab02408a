// sten-prune --schedule: pruning in stages, with a command of the user's or the built-in trainer
// that fine-tunes between them. Iterative and layer-wise magnitude pruning: paper, section
// "Sparsification for training".
#pragma once
#include <functional>

#include "libsten/run/prune.h"

namespace sten {

struct StagedOptions {
  PruneOptions prune;                   // input, output, selection; the structure if it is one
  std::string schedule;                 // see schedule.h
  std::vector<std::string> structures;  // all that were given, one a stage
  std::string finetune;                 // for /bin/sh, with placeholders {in} {out} {mask}
                                        // {metrics} {sparsity} {stage}
  std::string recipe;                   // for the built-in trainer, in the place of a command
  std::vector<std::string> overrides;   // of the recipe: key=value
  double finetune_timeout = 0;          // seconds; 0: none
  std::string state;                    // the directory that keeps the stages
  bool resume = false;
  double tolerance = 0.02;  // a layer has recovered at a loss L + this * |L| of the initial one, L
  Index rounds = 5;         // most of them for one layer
  Index patience = 2;       // rounds without a lower loss that end the run
  std::function<void(const std::string&)> say;  // a line as each stage ends
};

// One row per stage. Error where a stage fails; those before it are kept.
Outcome prune_in_stages(const StagedOptions& options);

}  // namespace sten
