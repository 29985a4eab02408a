// The built-in trainer between the stages of sten-prune, in the place of a command.
#pragma once
#include "libsten/linalg/dense_gemm.h"
#include "libsten/recipe/recipe.h"
#include "libsten/run/staged/stage_trainer.h"

namespace sten {

// Losses are those of the recipe's validation split. While it lives, one library computes all dense
// products of the process: the recipe's, or else the first, which is the same in every process.
class RecipeTrainer : public StageTrainer {
 public:
  // Error (usage) for a recipe with sparsity of its own, and for one without a validation split;
  // what is wrong with the recipe, or its data, is found here.
  RecipeTrainer(const std::string& path, const Overrides& overrides);

  std::string name() const override { return "the recipe's training"; }
  // By key: "recipe/optimizer/rate". Files are not in it.
  Options provenance() const override { return options(false); }
  Options files() const override { return options(true); }
  bool tells_losses() const override { return true; }

  void check(const std::string& model) const override;
  // Of the checkpoint as it is. Error where it is not of the recipe's model.
  StageLosses measure(const StageFiles& files, const StageRound& round) const override;
  // Trains the checkpoint for the recipe's steps, weights that have a mask at the masks' positions
  // alone, and writes the same tensors, those of the model being dense and trained. Rounds differ
  // in their batches, by stage and number.
  StageLosses train(const StageFiles& files, const StageRound& round) const override;

 private:
  Options options(bool are_files) const;

  Recipe recipe_;
  UseDenseLibrary products_;
};

}  // namespace sten
