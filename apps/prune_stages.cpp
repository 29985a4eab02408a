// SPDX-License-Identifier: Apache-2.0
#include "apps/prune_stages.h"

#include "apps/main.h"
#include "libsten/core/base/error.h"

namespace sten::app {
namespace {

constexpr const char* staged_pruning = "Staged pruning";

}  // namespace

void add_stages(CLI::App& app, StagedOptions& o) {
  app.add_option("--schedule", o.schedule,
                 "Prune in stages: iterative, linear, cubic or exponential with parameters, or "
                 "layer-wise\n"
                 "- iterative:from=,to=,step=: a fixed step of sparsity. With nm and nmg, repeat "
                 "--structure, one for each stage.\n"
                 "- linear:, cubic: or exponential:from=,to=,stages=: a curve of sparsity.\n"
                 "- layer-wise: one more tensor per stage, in natural order of names.\n"
                 "--finetune or --recipe trains the model after each stage.")
      ->type_name("SPEC")
      ->group(staged_pruning);
  app.add_option("--finetune", o.trainer.finetune,
                 "Command that trains {in} to {out} between stages\n"
                 "{in} and {out} have the format of the input. {mask} is a file with the masks; "
                 "{sparsity} and {stage} are those of the current stage.\n"
                 "The command may write {\"loss\": X, \"loss_before\": Y} to {metrics}. A command "
                 "with {metrics} first runs on the unpruned input, as stage 0.\n"
                 "Pruned weights that the command changed are set to 0 again, and counted.")
      ->type_name("COMMAND")
      ->group(staged_pruning);
  app.add_option("--recipe", o.trainer.recipe,
                 "Recipe of sten-train, instead of --finetune\n"
                 "A recipe with its own sparsity is refused. The recipe sets the steps of one "
                 "stage, and its validation split gives the losses. Stage 0 measures the unpruned "
                 "input.")
      ->type_name("FILE")
      ->group(staged_pruning);
  app.add_option("--set", o.trainer.overrides,
                 "Override a value of the recipe; repeatable\n"
                 "As in optimizer.rate=0.01.")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(staged_pruning);
  app.add_option("--finetune-timeout", o.trainer.finetune_timeout,
                 "Kill the command, and fail, after this many seconds (default 0: never)")
      ->type_name("SECONDS")
      ->group(staged_pruning);
  app.add_option("--state", o.state, "Directory for the finished stages, except in a dry run")
      ->type_name("DIR")
      ->group(staged_pruning);
  app.add_flag("--resume", o.resume, "Continue after the last finished stage in --state")
      ->group(staged_pruning);
  allow_percent(
      app.add_option("--tolerance", o.recovery.tolerance,
                     "Relative increase of the loss at which a layer has recovered (default 0.02)\n"
                     "Layer-wise, with {metrics} or --recipe: a layer is trained again until its "
                     "loss is at most L + X * |L|, where L is the loss of stage 0."))
      ->type_name("X")
      ->group(staged_pruning);
  app.add_option("--rounds", o.recovery.rounds, "Maximum rounds of training per layer (default 5)")
      ->type_name("N")
      ->group(staged_pruning);
  app.add_option("--patience", o.recovery.patience,
                 "Rounds without a lower loss before pruning stops (default 2)\n"
                 "The remaining layers stay dense.")
      ->type_name("N")
      ->group(staged_pruning);
}

void refuse_stage_flags(const StagedOptions& o) {
  const StagedOptions plain;
  const auto refuse = [](bool given, const char* flag) {
    if (given) fail_usage("{} belongs to --schedule", flag);
  };
  refuse(!o.trainer.finetune.empty(), "--finetune");
  refuse(!o.trainer.recipe.empty(), "--recipe");
  refuse(!o.trainer.overrides.empty(), "--set");
  refuse(o.trainer.finetune_timeout != plain.trainer.finetune_timeout, "--finetune-timeout");
  refuse(!o.state.empty(), "--state");
  refuse(o.resume, "--resume");
  refuse(o.recovery.tolerance != plain.recovery.tolerance, "--tolerance");
  refuse(o.recovery.rounds != plain.recovery.rounds, "--rounds");
  refuse(o.recovery.patience != plain.recovery.patience, "--patience");
}

}  // namespace sten::app
