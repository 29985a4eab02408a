// The built-in trainer between the stages of sten-prune, in the place of a command.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "libsten/recipe/recipe.h"
#include "libsten/run/rewrite.h"

namespace sten {

// Of a round: on the recipe's validation split, or as a command told them.
struct StageLosses {
  std::optional<double> before, after;
};

class RecipeTrainer {
 public:
  // Error (usage) for a recipe with sparsity of its own, and for one without a validation split;
  // what is wrong with the recipe, or its data, is found here.
  RecipeTrainer(const std::string& path, const Overrides& overrides);

  // What of the recipe decides the result, by key: "recipe/optimizer/rate". Files are not in it.
  Options provenance() const { return options(false); }
  // The names of its files alone.
  Options files() const { return options(true); }

  // Of the checkpoint as it is. Error where it is not of the recipe's model.
  double loss_of(const std::string& model) const;
  // Trains the checkpoint `in` for the recipe's steps, weights that have a mask at the masks'
  // positions alone, and writes `out`: the same tensors, those of the model being dense and
  // trained. Rounds differ in their batches, by stage and number.
  StageLosses train(const std::string& in, const std::string& masks, const std::string& out,
                    std::size_t stage, Index round) const;

 private:
  Options options(bool are_files) const;

  Recipe recipe_;
};

}  // namespace sten
