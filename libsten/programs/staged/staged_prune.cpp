// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/staged_prune.h"

#include <cmath>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/interrupted.h"
#include "libsten/programs/prune/prune.h"
#include "libsten/programs/staged/command_trainer.h"
#include "libsten/programs/staged/recipe_trainer.h"
#include "libsten/programs/staged/stage_runner.h"
#include "libsten/programs/staged/staged_report.h"

namespace sten {
namespace {

std::unique_ptr<StageTrainer> make_trainer(const StagedOptions& options) {
  const StageTrainerOptions& o = options.trainer;
  if (o.finetune.empty() == o.recipe.empty())
    fail_usage("{}", o.recipe.empty()
                         ? "--schedule needs --finetune 'COMMAND' or --recipe RECIPE.json"
                         : "--finetune and --recipe exclude each other");
  if (!o.recipe.empty()) {
    if (o.finetune_timeout != 0) fail_usage("--finetune-timeout belongs to --finetune");
    return std::make_unique<RecipeTrainer>(o.recipe, o.overrides, options.prune.device);
  }
  if (!o.overrides.empty()) fail_usage("--set belongs to --recipe");
  if (!(o.finetune_timeout >= 0))
    fail_usage("--finetune-timeout must be >= 0, got {}", o.finetune_timeout);
  return std::make_unique<CommandTrainer>(o.finetune, o.finetune_timeout);
}

// Options that decide the result, for provenance.
Options provenance_of(const StagedPlan& plan, const PruneRequest& last,
                      const StageTrainer& trainer) {
  const StagedOptions& o = plan.options;
  const Schedule& schedule = plan.schedule;
  Options all = last.values();
  all.emplace_back("schedule", schedule.spec.str());
  if (schedule.structures.size() > 1)
    for (const std::string& s : schedule.structures) all.emplace_back("structure", s);
  std::ranges::copy(trainer.provenance(), std::back_inserter(all));
  if (schedule.layerwise) {
    all.emplace_back("tolerance", fmt::to_string(o.recovery.tolerance));
    all.emplace_back("rounds", fmt::to_string(o.recovery.rounds));
    all.emplace_back("patience", fmt::to_string(o.recovery.patience));
  }
  return all;
}

// Options that decide the stages.
Options identity_of(const StagedPlan& plan, Options provenance, const StageTrainer& trainer) {
  const Checkpoint in = Checkpoint::open(plan.options.prune.input);
  provenance.emplace_back("input", content_hash(in));
  std::ranges::copy(trainer.files(), std::back_inserter(provenance));
  // The final layout and type may change on resume: the stages are the same.
  std::erase_if(provenance, [](const auto& v) { return v.first == "to" || v.first == "type"; });
  return provenance;
}

// Dry-runs all stages without training, to find errors before hours of it.
void try_stages(const StagedPlan& plan, const StageTrainer& trainer) {
  const StagedOptions& o = plan.options;
  if (!o.state.empty()) StateDirectory::check(o.state, o.resume);
  trainer.check(o.prune.input);
  const std::size_t last = plan.last_stage();
  for (std::size_t k = plan.schedule.structures.empty() ? last : 1; k <= last; ++k) {
    auto p = plan.stage_options(k);
    p.output.dry_run = true;
    if (k < last) p.tensors.to = Spec("dense");
    p.show_progress = false;
    prune(p);
  }
}

void set_stages_hint(const StagedPlan& plan, std::size_t done) {
  const std::string state = quote(plan.options.state);
  set_resume_hint(
      done ? fmt::format("{} keeps {} of {} stages; --resume continues", state, done, plan.stages)
           : fmt::format("{} contains no stage yet; the same command starts again", state));
}

}  // namespace

Outcome prune_in_stages(const StagedOptions& o) {
  StagedPlan plan = make_staged_plan(o);
  const std::unique_ptr<StageTrainer> trainer = make_trainer(o);
  const PruneRequest request = plan.stage_options(plan.last_stage());
  const Options provenance = provenance_of(plan, request, *trainer);
  plan.to = request.to();
  // Options of the final conversion, which are checked before hours of training.
  auto end = mask_options("", stage_mask_file);
  end.tensors.to = plan.to;
  const PruneRequest possible = end;
  list_stages(plan);
  try_stages(plan, *trainer);
  if (o.prune.output.dry_run) return planned_outcome(plan);

  const StateDirectory state(o.state, identity_of(plan, provenance, *trainer), o.resume);
  StageRunner stages(plan, *trainer, state);
  set_stages_hint(plan, 0);
  if (trainer->tells_losses()) stages.run(0);
  const std::optional<double> first_loss = stages.first_loss();
  if (plan.schedule.layerwise && first_loss && !std::isfinite(*first_loss))
    fail("the loss on the input is {}: expected a finite loss", *first_loss);
  std::vector<StageManifest> manifests;  // of stages 1, 2, ...
  while (manifests.size() < plan.stages && (manifests.empty() || manifests.back().recovered)) {
    manifests.push_back(stages.run(manifests.size() + 1));
    set_stages_hint(plan, manifests.size());
  }

  end.input = stages.model_of(manifests.size());
  end.files.mask = state.file(manifests.size(), stage_mask_file);
  end.files.mask_out = o.prune.files.mask_out;
  end.tensors.nan = o.prune.tensors.nan;
  end.output = o.prune.output;
  end.stage.provenance = provenance;
  end.show_progress = o.prune.show_progress;
  const Outcome last = prune(end);
  state.write_curve(to_svg(stage_curve(manifests, first_loss)));
  return staged_outcome(
      plan, {manifests, first_loss, stages.sparsity_of(last.report), last, trainer->name()});
}

}  // namespace sten
