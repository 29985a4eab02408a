// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/recipe_trainer.h"

#include <algorithm>
#include <array>

#include "libsten/core/base/cuda.h"
#include "libsten/core/base/json.h"
#include "libsten/core/base/random.h"
#include "libsten/core/base/text.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/files/checkpoint/checkpoint_output.h"
#include "libsten/files/checkpoint/mask_file.h"
#include "libsten/files/checkpoint/shards.h"
#include "libsten/model/nn/weights.h"
#include "libsten/training/trainer/products.h"
#include "libsten/training/trainer/trainer.h"

namespace sten {
namespace {

std::shared_ptr<const Task> task_on(Recipe r, const std::string& model) {
  r.model.weights = model;
  return std::make_shared<const Task>(r);
}

// Converts weights with a mask to the masked layout.
TrainState with_masks(TrainState state, const Graph& g, const Checkpoint& masks) {
  for (Parameter& p : state.parameters)
    for (const CheckpointTensor* t : weight_entries(*g.find_weight(p.name), masks)) {
      TensorInfo weight = *t;
      weight.shape = p.value.shape();
      p.value = registry().pack(p.value.to_dense(), read_mask(masks, weight), Spec("masked"));
    }
  return state;
}

// The weights rounded to the dtypes of `in`.
NamedValues<Tensor> in_types_of(const Checkpoint& in, const Graph& g, NamedValues<Tensor> weights) {
  for (const Weight& w : g.weights())
    for (const CheckpointTensor* t : weight_entries(w, in)) {
      Tensor& x = weights.find(w.name)->second;
      x = rounded_to(t->dtype, x);
    }
  return weights;
}
// Writes `in` with these weights, in their dtypes in `in`.
void write(const Checkpoint& in, const Graph& g, const NamedValues<Tensor>& weights,
           const std::string& path, bool directory) {
  std::vector<TensorInfo> contents(in.tensors().begin(), in.tensors().end());
  std::vector<std::optional<Tensor>> trained(contents.size());
  for (const Weight& w : g.weights())
    for (const CheckpointTensor* t : weight_entries(w, in)) {
      const auto i = static_cast<std::size_t>(t - in.tensors().data());
      trained[i] = weights.find(w.name)->second.to_dense();
      contents[i].layout = Spec("dense");
    }
  CheckpointOutput out(path, false, directory);
  out.begin(in, std::move(contents), [](const Metadata& m) { return m; });
  for (const std::size_t i : in.data_order()) {
    if (trained[i])
      out.add(i, *trained[i]);
    else
      out.copy(i);
  }
  out.finish();
  out.commit();
}

}  // namespace

RecipeTrainer::RecipeTrainer(const std::string& path, const Overrides& overrides,
                             const DeviceSpec& device)
    : recipe_(read_recipe(path, overrides)),
      device_(use_device(device)),
      products_(products_of(recipe_, dense_libraries().front().name)) {
  if (!recipe_.sparsity.empty())
    fail_usage("{}: /sparsity: must be empty with --schedule", printable(path));
  if (recipe_.distillation && recipe_.distillation->teacher.empty()) {
    if (recipe_.model.weights.empty())
      fail_usage("{}: /distillation: missing teacher, the checkpoint before pruning",
                 printable(path));
    recipe_.distillation->teacher = recipe_.model.weights;
  }
  // Each stage reads its own weights.
  recipe_.model.weights.clear();
  const Task task(recipe_);
  if (!task.has(DataSplit::validation))
    fail_usage("{}: /data/validation: expected rows for the losses of the stages, got none",
               printable(path));
}

Options RecipeTrainer::options(bool are_files) const {
  const std::string_view files[] = {"/model/config", "/data/file", "/data/features",
                                    "/data/labels",  "/data/text", "/data/vocabulary"};
  Options all;
  const auto flat = parse_json(to_json(recipe_), "the recipe").flatten();
  for (const auto& [key, value] : flat.items()) {
    if ((std::ranges::find(files, key) != std::end(files)) != are_files) continue;
    const auto is_in = [&, &key = key](const char* section) { return key.starts_with(section); };
    // Sections that the trainer ignores.
    if (std::ranges::any_of(std::to_array({"/$schema", "/schema", "/name", "/sparsity",
                                           "/evaluation", "/checkpoints", "/logging"}),
                            is_in))
      continue;
    all.emplace_back("recipe" + key,
                     value.is_string() ? value.get<std::string>() : dump_json(value));
  }
  return all;
}

void RecipeTrainer::check(const std::string& model) const {
  task_on(recipe_, model)->check_first_weights();
}

StageLosses RecipeTrainer::measure(const StageFiles& files, const StageRound&) const {
  Recipe r = recipe_;
  r.lora.reset();  // a checkpoint has no adapters
  const auto task = task_on(std::move(r), files.in);
  return {{}, validation_loss(*task, task->first_weights())};
}

double RecipeTrainer::validation_loss(const Task& task, NamedValues<Tensor> weights) const {
  for (auto& [name, w] : weights) w = widened(w).to(device_);
  return task.measure(weights, DataSplit::validation).loss;
}

StageLosses RecipeTrainer::train(const StageFiles& files, const StageRound& round) const {
  Recipe r = recipe_;
  r.seed = seed_for(r.seed, fmt::format("stage {} round {}", round.stage, round.round));
  const auto task = task_on(r, files.in);
  Trainer trainer(task, nullptr, {device_, TrainerOptions::usual_read_every});
  trainer.restore(
      with_masks(on_cpu(trainer.state()), task->graph(), Checkpoint::open(files.masks)));
  StageLosses losses;
  losses.before = task->measure(trainer.weights(), DataSplit::validation).loss;
  while (!trainer.is_done()) trainer.step();
  const Checkpoint in = Checkpoint::open(files.in);
  const NamedValues<Tensor> after = in_types_of(in, task->model(), on_cpu(trainer.weights()));
  losses.after = validation_loss(*task, after);
  write(in, task->model(), after, files.out, is_sharded(files.in));
  return losses;
}

}  // namespace sten
