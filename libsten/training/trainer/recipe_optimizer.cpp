// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/recipe_optimizer.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/hints.h"

namespace sten {
namespace {

std::variant<Sgd, AdamW> optimizer_of(const OptimizerRecipe& o) {
  if (o.kind == "adamw") return AdamW({o.rate, o.beta1, o.beta2, o.eps, o.weight_decay});
  if (o.kind == "sgd") return Sgd({o.rate, o.momentum, o.nesterov, o.weight_decay});
  fail_usage("{}", unknown_name("optimizer", o.kind, {"sgd", "adamw"}));
}

}  // namespace

RecipeOptimizer::RecipeOptimizer(const OptimizerRecipe& o) : optimizer_(optimizer_of(o)) {}

void RecipeOptimizer::set_rate(double rate) {
  std::visit([&](auto& o) { o.options.rate = rate; }, optimizer_);
}

RecipeOptimizer RecipeOptimizer::without_decay(double rate) const {
  RecipeOptimizer copy = *this;
  std::visit([](auto& o) { o.options.weight_decay = 0; }, copy.optimizer_);
  copy.set_rate(rate);
  return copy;
}

void RecipeOptimizer::step(Parameter& p, const Tensor& gradient, const Update& update) const {
  std::visit([&](const auto& o) { o.step(p, gradient, update); }, optimizer_);
}

void RecipeOptimizer::step(std::span<const ParameterStep> steps) const {
  std::visit([&](const auto& o) { o.step(steps); }, optimizer_);
}

}  // namespace sten
