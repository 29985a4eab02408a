// SPDX-License-Identifier: Apache-2.0
// Interface of trainers between the stages of sten-prune: a user command or the built-in trainer.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "libsten/programs/rewrite/rewrite.h"

namespace sten {

// Losses of a round, measured or reported by the command.
struct StageLosses {
  std::optional<double> before, after;
};

// The stage and round of files; stage 0 is the input.
struct StageRound {
  std::size_t stage = 0;
  Index round = 1;
  double sparsity = 0;  // of the masks, over all selected tensors
};

// Paths of checkpoints and masks. The trainer creates `out` and `metrics`.
struct StageFiles {
  std::string in, masks, out, metrics;
};

class StageTrainer {
 public:
  virtual ~StageTrainer() = default;
  // The name in messages: "the command".
  virtual std::string name() const = 0;
  // Options that decide the result.
  virtual Options provenance() const = 0;
  // The same for the names of files that the trainer reads.
  virtual Options files() const { return {}; }
  // Whether the loss of the input is measured before the first stage.
  virtual bool tells_losses() const = 0;

  // Error if the model cannot be trained; loads nothing of it.
  virtual void check(const std::string& /*model*/) const {}
  // Loss of the input. Error if it cannot be measured.
  virtual StageLosses measure(const StageFiles& files, const StageRound& round) const = 0;
  // Trains `in` and writes `out`. Error on failure.
  virtual StageLosses train(const StageFiles& files, const StageRound& round) const = 0;
};

}  // namespace sten
