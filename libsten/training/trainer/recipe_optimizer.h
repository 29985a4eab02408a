// SPDX-License-Identifier: Apache-2.0
// The optimizer of a recipe.
#pragma once
#include <variant>

#include "libsten/training/optim/adamw.h"
#include "libsten/training/optim/sgd.h"
#include "libsten/training/recipe/recipe.h"

namespace sten {

class RecipeOptimizer {
 public:
  // Error (usage) for an unknown kind.
  explicit RecipeOptimizer(const OptimizerRecipe& o);

  void set_rate(double rate);
  // The same optimizer with another rate, without weight decay.
  RecipeOptimizer without_decay(double rate) const;
  // As AdamW::step() and Sgd::step().
  void step(Parameter& p, const Tensor& gradient, const Update& update = {}) const;
  void step(std::span<const ParameterStep> steps) const;

 private:
  std::variant<Sgd, AdamW> optimizer_;
};

}  // namespace sten
