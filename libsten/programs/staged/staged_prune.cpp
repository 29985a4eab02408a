#include "libsten/programs/staged/staged_prune.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/mask_file.h"
#include "libsten/files/checkpoint/other_weights.h"
#include "libsten/files/checkpoint/shards.h"
#include "libsten/files/system/interrupted.h"
#include "libsten/programs/measure/measure.h"
#include "libsten/programs/plan/prune_plan.h"
#include "libsten/programs/prune/prune.h"
#include "libsten/programs/staged/command_trainer.h"
#include "libsten/programs/staged/recipe_trainer.h"
#include "libsten/programs/staged/staged_report.h"
#include "libsten/programs/staged/state.h"
#include "libsten/programs/staged/trained.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

constexpr const char* mask_file = "mask.safetensors";

std::unique_ptr<StageTrainer> make_trainer(const StagedOptions& o) {
  if (o.finetune.empty() == o.recipe.empty())
    fail_usage("{}", o.recipe.empty()
                         ? "--schedule needs --finetune 'COMMAND' or --recipe RECIPE.json"
                         : "--finetune and --recipe exclude each other");
  if (!o.recipe.empty()) {
    if (o.finetune_timeout != 0) fail_usage("--finetune-timeout belongs to --finetune");
    return std::make_unique<RecipeTrainer>(o.recipe, o.overrides);
  }
  if (!o.overrides.empty()) fail_usage("--set belongs to --recipe");
  if (!(o.finetune_timeout >= 0))
    fail_usage("--finetune-timeout must be >= 0, got {}", o.finetune_timeout);
  return std::make_unique<CommandTrainer>(o.finetune, o.finetune_timeout);
}

void check_options(const StagedOptions& o, const Schedule& schedule) {
  const PruneOptions& p = o.prune;
  if (o.state.empty() && !p.output.dry_run) fail_usage("--schedule needs --state DIR");
  if (p.tensors.method != PruneMethod::magnitude || p.tensors.is_calibrated())
    fail_usage("--schedule needs --method magnitude, without --reconstruct");
  if (!p.reorder.empty()) fail_usage("--schedule and --reorder exclude each other");
  if (!p.files.mask.empty()) fail_usage("--schedule and --mask exclude each other");
  if (p.min_energy) fail_usage("--schedule and --min-energy exclude each other");
  if (p.output.keep_other_weights)
    fail_usage("--schedule and --keep-other-weights exclude each other");
  if (p.input == "-") fail_usage("--schedule: expected a file as input, got standard input");
  if (schedule.layerwise && p.tensors.scope == PruneScope::global)
    fail_usage("--schedule layer-wise and --scope global exclude each other");
  if (!(o.tolerance >= 0)) fail_usage("--tolerance must be >= 0, got {}", o.tolerance);
  if (o.rounds < 1) fail_usage("--rounds must be >= 1, got {}", o.rounds);
  if (o.patience < 1) fail_usage("--patience must be >= 1, got {}", o.patience);
  if (!schedule.structures.empty() || schedule.layerwise) return;
  if (p.tensors.structure.name().starts_with("block"))
    fail_usage("--schedule: expected the structure unstructured, nm or nmg, got {}",
               quote(o.structures.front()));
  if (!p.tensors.structure.is("unstructured"))
    fail_usage(
        "--structure {} has a fixed sparsity (repeat --structure with --schedule iterative, one a "
        "stage)",
        o.structures.front());
}

class Staged {
 public:
  explicit Staged(const StagedOptions& o)
      : o_(o), plan_{o, parse_schedule(o.schedule, o.prune.tensors.sparsity, o.structures)} {
    check_options(o, schedule_);
    trainer_ = make_trainer(o);
    const PruneOptions last = stage_options(last_stage());
    const PruneRequest request(last);
    provenance_ = request.values();
    provenance_.emplace_back("schedule", schedule_.spec.str());
    if (schedule_.structures.size() > 1)
      for (const std::string& s : schedule_.structures) provenance_.emplace_back("structure", s);
    std::ranges::copy(trainer_->provenance(), std::back_inserter(provenance_));
    if (schedule_.layerwise) {
      provenance_.emplace_back("tolerance", fmt::to_string(o.tolerance));
      provenance_.emplace_back("rounds", fmt::to_string(o.rounds));
      provenance_.emplace_back("patience", fmt::to_string(o.patience));
    }
    plan_.to = request.to();
    // Checks the final conversion before hours of training.
    PruneOptions end;
    end.files.mask = mask_file;
    end.tensors.to = plan_.to;
    const PruneRequest possible(end);
  }

  Outcome run() {
    list_stages();
    try_stages();
    if (o_.prune.output.dry_run) return planned_outcome(plan_);
    Options identity = provenance_;
    {
      const Checkpoint in = Checkpoint::open(o_.prune.input);
      identity.emplace_back("input", content_hash(in));
    }
    std::ranges::copy(trainer_->files(), std::back_inserter(identity));
    // The final layout may change on resume: the stages are the same.
    std::erase_if(identity, [](const auto& v) { return v.first == "to"; });
    state_.emplace(o_.state, identity, o_.resume);
    set_stages_hint(0);
    if (trainer_->tells_losses()) first_loss_ = stage(0).loss;
    if (schedule_.layerwise && first_loss_ && !std::isfinite(*first_loss_))
      fail("the loss on the input is {}: expected a finite loss", *first_loss_);
    std::size_t done = 0;
    while (done < plan_.stages) {
      const StageManifest r = stage(++done);
      set_stages_hint(done);
      records_.push_back(r);
      if (!r.recovered) break;
    }
    return finish(done);
  }

 private:
  std::size_t last_stage() const { return schedule_.layerwise ? 1 : schedule_.stages(); }

  // The options of stage k >= 1, without input and output. Stage 0 prunes nothing.
  PruneOptions stage_options(std::size_t k) const {
    PruneOptions p = o_.prune;
    if (!schedule_.structures.empty())
      p.tensors.structure = Spec::parse(schedule_.structures[k ? k - 1 : 0]);
    else if (!schedule_.layerwise)
      p.tensors.sparsity = schedule_.sparsity[k ? k - 1 : 0];
    return p;
  }

  void list_stages() {
    const Checkpoint in = Checkpoint::open(o_.prune.input);
    if (in.is_onnx())  // the files of stages are safetensors, without a graph
      fail_usage(
          "{}: --schedule does not support ONNX models (sten-convert --to dense writes "
          "safetensors)",
          in.name());
    const PruneOptions p = stage_options(last_stage());
    const PrunePlan plan = plan_of(p, in, nullptr);
    plan_.part_taken = in.part_taken();
    plan_.left_alone = left_alone(plan.why);
    plan_.skipped_rows = skipped_rows(in, plan.why);
    for (const std::size_t i : plan.order) {
      plan_.names.push_back(in.tensors()[i].name);
      plan_.elements += size_of(in.tensors()[i].shape);
    }
    if (in.index()) plan_.left = left_behind(*in.index());
    plan_.stages = schedule_.layerwise ? plan_.names.size() : schedule_.stages();
  }

  // Dry-runs all stages without training, to find errors before hours of it.
  void try_stages() const {
    if (!o_.state.empty()) StateDirectory::check(o_.state, o_.resume);
    trainer_->check(o_.prune.input);
    const std::size_t last = last_stage();
    for (std::size_t k = schedule_.structures.empty() ? last : 1; k <= last; ++k) {
      PruneOptions p = stage_options(k);
      p.output.dry_run = true;
      if (k < last) p.tensors.to = "dense";
      p.show_progress = false;
      prune(p);
    }
  }

  void set_stages_hint(std::size_t done) const {
    const std::string state = quote(o_.state);
    set_resume_hint(
        done
            ? fmt::format("{} keeps {} of {} stages; --resume continues", state, done, plan_.stages)
            : fmt::format("{} contains no stage yet; the same command starts again", state));
  }

  // The loss that a layer must recover to. Losses may be negative.
  double recovered_loss() const { return *first_loss_ + o_.tolerance * std::abs(*first_loss_); }

  std::string model_of(std::size_t k) const {
    if (k == 0) return o_.prune.input;
    const std::string directory = state_->file(k, "model");
    return fs::exists(directory) ? directory : directory + ".safetensors";
  }

  StageManifest stage(std::size_t k) {
    if (const auto done = state_->manifest(k)) return *done;
    try {
      return new_stage(k);
    } catch (const Error& e) {
      throw Error(e.fault(), fmt::format("stage {}: {}", k, e.what()));
    }
  }

  StageManifest new_stage(std::size_t k) {
    const auto start = std::chrono::steady_clock::now();
    const auto dir = state_->new_stage(k);
    StageManifest r = prune_stage(k, *dir);
    std::string model = dir->file(name_like(o_.prune.input, "given"));
    Index worse = 0;
    std::optional<double> best;
    for (r.rounds = 1;; ++r.rounds) {
      const StageFiles files = {
          model, dir->file(mask_file),
          dir->file(name_like(o_.prune.input, fmt::format("trained-{}", r.rounds))),
          dir->file(fmt::format("metrics-{}.json", r.rounds))};
      const StageRound round = {k, r.rounds, r.sparsity};
      const StageLosses losses =
          k == 0 ? trainer_->measure(files, round) : trainer_->train(files, round);
      if (r.rounds == 1) r.loss_before = losses.before;
      r.loss = losses.after;
      if (k == 0) break;
      model = reapply(r, *dir, files.out);
      if (!schedule_.layerwise || !r.loss || !first_loss_) break;
      if (*r.loss <= recovered_loss()) break;
      const bool is_better = !std::isnan(*r.loss) && (!best || *r.loss < *best);
      worse = best && !is_better ? worse + 1 : 0;
      best = is_better ? *r.loss : best.value_or(std::numeric_limits<double>::infinity());
      if (worse >= o_.patience) {
        r.recovered = false;
        break;
      }
      if (r.rounds >= o_.rounds) break;
    }
    clear(*dir, model, k > 0);
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    write_manifest(*dir, r);
    dir->commit();
    if (o_.say) o_.say(stage_line(k, plan_.stages, r));
    return r;
  }

  // "given.safetensors", or "given" for a directory.
  static std::string name_like(const std::string& path, const std::string& name) {
    return is_sharded(path) ? name : name + ".safetensors";
  }

  StageManifest prune_stage(std::size_t k, const OutputDirectory& dir) {
    PruneOptions p = stage_options(k);
    p.input = model_of(k ? k - 1 : 0);
    p.output = {dir.file(name_like(o_.prune.input, "given")), false, false};
    p.files.mask_out = dir.file(mask_file);
    p.tensors.to = "dense";
    p.stage.provenance = Options{};
    p.show_progress = false;
    StageManifest r;
    if (k == 0) {
      p.tensors.structure = Spec("unstructured");
      p.tensors.sparsity = 0;
      p.rules.clear();
      p.files.rules.clear();
    } else if (schedule_.layerwise) {
      p.stage.only = r.tensor = plan_.names[k - 1];
      if (k > 1) p.stage.masks_so_far = state_->file(k - 1, mask_file);
    }
    const Outcome out = prune(p);
    r.sparsity = sparsity_of(out.report);
    if (k > 0) r.energy = energy_at(p.files.mask_out);
    return r;
  }

  // The energy of the input over all selected tensors under the masks. Tensors without a mask are
  // whole; NaN and infinity are ignored.
  double energy_at(const std::string& mask_path) const {
    const Checkpoint in = Checkpoint::open(o_.prune.input), masks = Checkpoint::open(mask_path);
    Magnitudes sum;
    for (const std::string& name : plan_.names) {
      const CheckpointTensor& t = *in.find(name);
      const Dense x = in.load(t).to_dense();
      const Magnitudes m =
          finite_magnitudes(x, masks.find(name) ? read_mask(masks, t) : Mask::all(x.extents));
      sum.all += m.all;
      sum.kept += m.kept;
      in.drop(t);
    }
    return energy(sum);
  }

  // Over all selected tensors, including those of later stages.
  double sparsity_of(const Report& r) const {
    std::vector<Cell> total = r.total;
    const auto n = static_cast<double>(std::get<Index>(r.at(total, "elements")));
    const auto all = static_cast<double>(plan_.elements);
    return plan_.elements ? cell_number(r, r.total, "sparsity") * n / all : 0;
  }

  // Sets pruned positions to zero again. Returns the path of the resulting model.
  std::string reapply(StageManifest& r, const OutputDirectory& dir, const std::string& trained) {
    const std::string given = dir.file(name_like(o_.prune.input, "given"));
    const std::string masks = dir.file(mask_file);
    try {
      r.violations +=
          check_trained(Checkpoint::open(given), Checkpoint::open(trained), Checkpoint::open(masks))
              .violations;
    } catch (const Error& e) {
      // Replaces the name of a hidden directory.
      std::string what = e.what();
      const std::string shown = printable(trained);
      if (what.starts_with(shown)) what = "{out}" + what.substr(shown.size());
      throw Error(e.fault(), fmt::format("output of {}: {}", trainer_->name(), what));
    }
    PruneOptions p;
    p.input = trained;
    p.stage.metadata_of = given;  // many trainers write no metadata
    p.files.mask = masks;
    p.tensors.nan = Nan::keep;
    const std::string model = dir.file(name_like(trained, fmt::format("model-{}", r.rounds)));
    p.output = {model, false, false};
    p.stage.provenance = Options{};
    prune(p);
    return model;
  }

  // Removes all files but the masks and the model under its final name; all files if no model is
  // kept.
  static void clear(const OutputDirectory& dir, const std::string& model, bool holds) {
    const std::string final = dir.file(name_like(model, "model"));
    std::error_code none;
    if (holds) fs::rename(model, final);
    std::vector<fs::path> rest;
    for (const auto& entry : fs::directory_iterator(dir.file("")))
      if (!holds || (entry.path() != fs::path(final) && entry.path().filename() != mask_file))
        rest.push_back(entry.path());
    for (const fs::path& path : rest) fs::remove_all(path, none);
  }

  Outcome finish(std::size_t done) {
    PruneOptions p;
    p.input = model_of(done);
    p.files.mask = state_->file(done, mask_file);
    p.tensors.nan = o_.prune.tensors.nan;
    p.output = o_.prune.output;
    p.files.mask_out = o_.prune.files.mask_out;
    p.tensors.to = plan_.to;
    p.stage.provenance = provenance_;
    p.show_progress = o_.prune.show_progress;
    const Outcome last = prune(p);
    state_->write_curve(stage_curve(records_, first_loss_));
    return staged_outcome(
        plan_, {records_, first_loss_, sparsity_of(last.report), last, trainer_->name()});
  }

  const StagedOptions& o_;
  StagedPlan plan_;
  const Schedule& schedule_ = plan_.schedule;
  std::unique_ptr<StageTrainer> trainer_;
  Options provenance_;
  std::optional<StateDirectory> state_;
  std::optional<double> first_loss_;
  std::vector<StageManifest> records_;  // of stages 1, 2, ...
};

}  // namespace

Outcome prune_in_stages(const StagedOptions& options) { return Staged(options).run(); }

}  // namespace sten
