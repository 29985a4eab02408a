// SPDX-License-Identifier: Apache-2.0
// sten-prune --recipe: the built-in trainer between stages.
#pragma once
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/device_spec.h"
#include "libsten/programs/staged/stage_trainer.h"
#include "libsten/training/task/task.h"

namespace sten {

// Losses are those of the recipe's validation split. During the lifetime of this object, all dense
// products of the process use one library: the recipe's, or the first one available, which is the
// same in every process.
class RecipeTrainer : public StageTrainer {
 public:
  // Trains and measures on the device. Error (usage) for a recipe with sparsity or without a
  // validation split. Reports errors in the recipe and its data.
  RecipeTrainer(const std::string& path, const Overrides& overrides, const DeviceSpec& device);

  std::string name() const override { return "the recipe's training"; }
  // Options by key: "recipe/optimizer/rate". Excludes files.
  Options provenance() const override { return options(false); }
  Options files() const override { return options(true); }
  bool tells_losses() const override { return true; }

  void check(const std::string& model) const override;
  // Measures the checkpoint. Error if it does not fit the recipe's model.
  StageLosses measure(const StageFiles& files, const StageRound& round) const override;
  // Trains the checkpoint for the recipe's steps, and weights with a mask only at the mask's
  // positions. Writes the same tensors; those of the model are dense and trained. Batches depend on
  // stage and round.
  StageLosses train(const StageFiles& files, const StageRound& round) const override;

 private:
  Options options(bool are_files) const;

  double validation_loss(const Task& task, NamedValues<Tensor> weights) const;

  Recipe recipe_;
  const Device device_;
  UseDenseLibrary products_;
};

}  // namespace sten
