// SPDX-License-Identifier: Apache-2.0
// WeightSelection of weights under one threshold.
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/registry.h"
#include "libsten/training/optim/select.h"
#include "libsten/training/trainer/weight_selection.h"

namespace sten {

void WeightSelection::begin_global() {
  for (const std::vector<std::size_t>& group : weights_.global) {
    const WeightSparsity& first = weights_.sparsity[group.front()];
    if (!first.is_straight_through()) {
      if (const SparsityStage* stage = first.stages->beginning(weights_.state.step))
        select_global(group, stage->by);
      continue;
    }
    const SparsityStage* stage = first.stages->current(weights_.state.step);
    if (!stage) continue;
    const auto value = [&](std::size_t i) {
      return weights_.state.parameters[i].value.as<Dense>();
    };
    const std::vector<GivenMask> masks = masks_of(group, stage->by, value);
    for (std::size_t k = 0; k < group.size(); ++k) {
      WeightSparsity& s = weights_.sparsity[group[k]];
      s.computing = registry().prune(value(group[k]), masks[k], s.stages->layout);
      s.kept = s.computing->stored().count();
    }
  }
}

std::vector<GivenMask> WeightSelection::masks_of(
    const std::vector<std::size_t>& group, const Spec& by,
    const std::function<Dense(std::size_t i)>& value) const {
  const bool needs_scores = registry().sparsifier(by).needs_scores();
  std::vector<GlobalWeight> all;
  for (const std::size_t i : group) {
    GlobalWeight& w = all.emplace_back(GlobalWeight{value(i)});
    if (needs_scores) w.scores = scores_of(i, by);
  }
  return global_masks(by, all);
}

void WeightSelection::select_global(const std::vector<std::size_t>& group, const Spec& by) {
  const auto value = [&](std::size_t i) { return weights_.state.parameters[i].value.to_dense(); };
  const std::vector<GivenMask> masks = masks_of(group, by, value);
  for (std::size_t k = 0; k < group.size(); ++k) {
    select_positions(weights_.state.parameters[group[k]], masks[k],
                     weights_.sparsity[group[k]].stages->layout);
    count(group[k]);
  }
}

void WeightSelection::reselect_global() {
  for (const std::vector<std::size_t>& group : weights_.global) {
    const WeightStages& s = *weights_.sparsity[group.front()].stages;
    if (updates_mask(group.front()) && s.mask.kind == "refresh")
      select_global(group, s.current(weights_.state.step)->by);
  }
}

void WeightSelection::measure_global(NamedValues<Tensor>& all) const {
  for (const std::vector<std::size_t>& group : weights_.global) {
    const WeightSparsity& s = weights_.sparsity[group.front()];
    const SparsityStage* stage =
        s.is_straight_through() ? s.stages->current(weights_.state.step - 1) : nullptr;
    if (!stage) continue;
    const auto value = [&](std::size_t i) -> Tensor& {
      return all.find(weights_.state.parameters[i].name)->second;
    };
    const std::vector<GivenMask> masks =
        masks_of(group, stage->by, [&](std::size_t i) { return value(i).as<Dense>(); });
    for (std::size_t k = 0; k < group.size(); ++k) {
      Tensor& w = value(group[k]);
      w = registry().prune(w.as<Dense>(), masks[k], s.stages->layout);
    }
  }
}

}  // namespace sten
