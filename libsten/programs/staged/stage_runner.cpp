// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/stage_runner.h"

#include <chrono>
#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/mask_file.h"
#include "libsten/files/checkpoint/shards.h"
#include "libsten/programs/measure/measure.h"
#include "libsten/programs/prune/prune.h"
#include "libsten/programs/staged/stage_report.h"
#include "libsten/programs/staged/trained.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

// "given.safetensors", or "given" for a directory.
std::string name_like(const std::string& path, const std::string& name) {
  return is_sharded(path) ? name : name + ".safetensors";
}

// Removes all files but the masks and the model under its final name; all files if no model is
// kept.
void clear(const OutputDirectory& dir, const std::string& model, bool holds) {
  const std::string final = dir.file(name_like(model, "model"));
  std::error_code none;
  if (holds) fs::rename(model, final);
  std::vector<fs::path> rest;
  for (const auto& entry : fs::directory_iterator(dir.file("")))
    if (!holds || (entry.path() != fs::path(final) && entry.path().filename() != stage_mask_file))
      rest.push_back(entry.path());
  for (const fs::path& path : rest) fs::remove_all(path, none);
}

}  // namespace

std::string StageRunner::model_of(std::size_t k) const {
  if (k == 0) return plan_.options.prune.input;
  const std::string directory = state_.file(k, "model");
  return fs::exists(directory) ? directory : directory + ".safetensors";
}

StageManifest StageRunner::run(std::size_t k) {
  std::optional<StageManifest> r = state_.manifest(k);
  try {
    if (!r) r = new_stage(k);
  } catch (const Error& e) {
    throw Error(e.fault(), fmt::format("stage {}: {}", k, e.what()));
  }
  if (k == 0) first_loss_ = r->loss;
  return *std::move(r);
}

StageManifest StageRunner::new_stage(std::size_t k) {
  const auto start = std::chrono::steady_clock::now();
  const auto dir = state_.new_stage(k);
  StageManifest r = prune_stage(k, *dir);
  const MaskTotals masks = k > 0 ? totals_of(dir->file(stage_mask_file)) : MaskTotals();
  r.energy = masks.energy;
  std::string model = dir->file(name_like(plan_.options.prune.input, "given"));
  RecoveryRounds rounds;
  for (r.rounds = 1;; ++r.rounds) {
    const StageFiles files = {
        model, dir->file(stage_mask_file),
        dir->file(name_like(plan_.options.prune.input, fmt::format("trained-{}", r.rounds))),
        dir->file(fmt::format("metrics-{}.json", r.rounds))};
    const StageRound round = {k, r.rounds, masks.sparsity};
    const StageLosses losses =
        k == 0 ? trainer_.measure(files, round) : trainer_.train(files, round);
    if (r.rounds == 1) r.loss_before = losses.before;
    r.loss = losses.after;
    if (k == 0) break;
    model = reapply(r, *dir, files.out);
    if (!plan_.schedule.layerwise || !r.loss || !first_loss_) break;
    const Recovery verdict = rounds.add(plan_.options.recovery, *first_loss_, *r.loss);
    r.recovered = verdict != Recovery::no_lower_loss;
    if (verdict != Recovery::train_again) break;
  }
  clear(*dir, model, k > 0);
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  write_manifest(*dir, r);
  dir->commit();
  if (plan_.options.say) plan_.options.say(stage_line(k, plan_.stages, r));
  return r;
}

StageManifest StageRunner::prune_stage(std::size_t k, const OutputDirectory& dir) {
  auto p = plan_.stage_options(k);
  p.input = model_of(k ? k - 1 : 0);
  p.output = {dir.file(name_like(plan_.options.prune.input, "given")), false, false};
  p.files.mask_out = dir.file(stage_mask_file);
  p.tensors.to = Spec("dense");
  p.stage.provenance = Options{};
  p.show_progress = false;
  StageManifest r;
  if (k == 0) {
    p.tensors.structure = Spec("unstructured");
    p.tensors.sparsity = 0;
    p.rules.clear();
    p.files.rules.clear();
  } else if (plan_.schedule.layerwise) {
    p.stage.only = r.tensor = plan_.names[k - 1];
    if (k > 1) p.stage.masks_so_far = state_.file(k - 1, stage_mask_file);
  }
  const Outcome out = prune(p);
  r.sparsity = sparsity_of(out.report);
  return r;
}

StageRunner::MaskTotals StageRunner::totals_of(const std::string& mask_path) const {
  const Checkpoint in = Checkpoint::open(plan_.options.prune.input),
                   masks = Checkpoint::open(mask_path);
  Magnitudes sum;
  Index pruned = 0;
  for (const std::string& name : plan_.names) {
    const CheckpointTensor& t = *in.find(name);
    const Dense x = in.load(t).to_dense();
    const Mask keep = masks.find(name) ? read_mask(masks, t) : Mask::all(x.extents);
    const Magnitudes m = finite_magnitudes(x, keep);
    sum.all += m.all;
    sum.kept += m.kept;
    pruned += x.size() - keep.count();
    in.drop(t);
  }
  return {energy(sum), share(pruned, plan_.elements)};
}

double StageRunner::sparsity_of(const Report& r) const {
  std::vector<Cell> total = r.total;
  const auto n = static_cast<double>(std::get<Index>(r.at(total, "elements")));
  const auto all = static_cast<double>(plan_.elements);
  return plan_.elements ? cell_number(r, r.total, "sparsity") * n / all : 0;
}

std::string StageRunner::reapply(StageManifest& r, const OutputDirectory& dir,
                                 const std::string& trained) {
  const std::string given = dir.file(name_like(plan_.options.prune.input, "given"));
  const std::string masks = dir.file(stage_mask_file);
  try {
    r.violations +=
        check_trained(Checkpoint::open(given), Checkpoint::open(trained), Checkpoint::open(masks))
            .violations;
  } catch (const Error& e) {
    // Replaces the name of a hidden directory.
    std::string what = e.what();
    const std::string shown = printable(trained);
    if (what.starts_with(shown)) what = "{out}" + what.substr(shown.size());
    throw Error(e.fault(), fmt::format("output of {}: {}", trainer_.name(), what));
  }
  auto p = mask_options(trained, masks);
  p.stage.metadata_of = given;  // many trainers write no metadata
  p.tensors.nan = Nan::keep;
  const std::string model = dir.file(name_like(trained, fmt::format("model-{}", r.rounds)));
  p.output = {model, false, false};
  p.stage.provenance = Options{};
  r.sparsity = sparsity_of(prune(p).report);
  return model;
}

}  // namespace sten
