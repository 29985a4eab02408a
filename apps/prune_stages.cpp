#include "apps/prune_stages.h"

#include "apps/main.h"
#include "libsten/base/error.h"

namespace sten::app {
namespace {

constexpr const char* in_stages = "In stages";

}  // namespace

void add_stages(CLI::App& app, StagedOptions& o) {
  app.add_option(
         "--schedule", o.schedule,
         "Prune in stages, with --finetune or --recipe between them: iterative:from=,to=,step=; "
         "linear:, cubic: or exponential:from=,to=,stages=; layer-wise (one tensor more per "
         "stage, in natural order of names). With nm and nmg repeat --structure, one a "
         "stage of iterative")
      ->type_name("SPEC")
      ->group(in_stages);
  app.add_option(
         "--finetune", o.finetune,
         "The command that trains {in} to {out}, both as the input is; {mask} has the masks, "
         "{sparsity} and {stage} tell where it is. It may write {\"loss\": X, "
         "\"loss_before\": Y} to {metrics}; it is then run on the input first, as stage 0. "
         "What it changed where weights are pruned becomes 0 again and is counted")
      ->type_name("COMMAND")
      ->group(in_stages);
  app.add_option(
         "--recipe", o.recipe,
         "In the place of --finetune: the built-in trainer, by a recipe of sten-train without "
         "sparsity. Its steps are those of a stage, its validation split gives the losses; "
         "stage 0 measures the input itself")
      ->type_name("FILE")
      ->group(in_stages);
  app.add_option("--set", o.overrides,
                 "Another value in the recipe: key=value, such as optimizer.rate=0.01; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(in_stages);
  app.add_option("--finetune-timeout", o.finetune_timeout,
                 "End the command, and fail, after that many seconds (default 0: never)")
      ->type_name("SECONDS")
      ->group(in_stages);
  app.add_option("--state", o.state,
                 "Directory that keeps every finished stage; a dry run needs none")
      ->type_name("DIR")
      ->group(in_stages);
  app.add_flag("--resume", o.resume, "Go on after the last finished stage in --state")
      ->group(in_stages);
  allow_percent(
      app.add_option("--tolerance", o.tolerance,
                     "Layer-wise with {metrics} or --recipe: a layer has recovered at a loss of at "
                     "most L + X * |L|, L being that of stage 0 (default 0.02); until then it is "
                     "trained again"))
      ->type_name("X")
      ->group(in_stages);
  app.add_option("--rounds", o.rounds, "Most rounds of training for one layer (default 5)")
      ->type_name("N")
      ->group(in_stages);
  app.add_option(
         "--patience", o.patience,
         "Rounds without a lower loss after which pruning ends, and later layers stay dense "
         "(default 2)")
      ->type_name("N")
      ->group(in_stages);
}

void refuse_stage_flags(const StagedOptions& o) {
  const StagedOptions plain;
  const auto refuse = [](bool given, const char* flag) {
    if (given) fail_usage("{} belongs to --schedule", flag);
  };
  refuse(!o.finetune.empty(), "--finetune");
  refuse(!o.recipe.empty(), "--recipe");
  refuse(!o.overrides.empty(), "--set");
  refuse(o.finetune_timeout != plain.finetune_timeout, "--finetune-timeout");
  refuse(!o.state.empty(), "--state");
  refuse(o.resume, "--resume");
  refuse(o.tolerance != plain.tolerance, "--tolerance");
  refuse(o.rounds != plain.rounds, "--rounds");
  refuse(o.patience != plain.patience, "--patience");
}

}  // namespace sten::app
