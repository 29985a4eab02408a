// --finetune: a command of the user's that trains between the stages of sten-prune.
#pragma once
#include "libsten/run/staged/stage_trainer.h"

namespace sten {

class CommandTrainer : public StageTrainer {
 public:
  // `command` is for /bin/sh, with placeholders {in} {out} {mask} {metrics} {sparsity} {stage};
  // it is ended after `timeout` seconds, where that is not 0. Error (usage) for one that lacks {in}
  // or {out}, or has a placeholder that was mistyped.
  CommandTrainer(std::string command, double timeout);

  std::string name() const override { return "the command"; }
  Options provenance() const override { return {{"finetune", command_}}; }
  bool tells_losses() const override;

  // What the command makes of the input is not looked at, apart from the loss in {metrics}.
  StageLosses measure(const StageFiles& files, const StageRound& round) const override;
  StageLosses train(const StageFiles& files, const StageRound& round) const override;

 private:
  StageLosses run(const StageFiles& files, const StageRound& round) const;

  std::string command_;
  double timeout_;
};

}  // namespace sten
