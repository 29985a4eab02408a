// SPDX-License-Identifier: Apache-2.0
// sten-prune --finetune: a user command that trains between stages.
#pragma once
#include "libsten/programs/staged/stage_trainer.h"

namespace sten {

class CommandTrainer : public StageTrainer {
 public:
  // `command`: for /bin/sh, with placeholders {in} {out} {mask} {metrics} {sparsity} {stage}.
  // `timeout`: in seconds; 0: none. Error (usage) if {in} or {out} is missing, or a placeholder is
  // mistyped.
  CommandTrainer(std::string command, double timeout);

  std::string name() const override { return "the command"; }
  Options provenance() const override { return {{"finetune", command_}}; }
  bool tells_losses() const override;

  // Ignores {out}; reads only the loss in {metrics}.
  StageLosses measure(const StageFiles& files, const StageRound& round) const override;
  StageLosses train(const StageFiles& files, const StageRound& round) const override;

 private:
  StageLosses run(const StageFiles& files, const StageRound& round) const;

  std::string command_;
  double timeout_;
};

}  // namespace sten
