// SPDX-License-Identifier: Apache-2.0
// Selection of the kept elements of weights in training: at stages, after calibration, and at mask
// updates.
#pragma once
#include <functional>

#include "libsten/training/optim/parameter.h"
#include "libsten/training/trainer/global_masks.h"
#include "libsten/training/trainer/score_training.h"

namespace sten {

// i is the index of a parameter, and "this step" that of the state.
class WeightSelection {
 public:
  // Both must outlive this object.
  WeightSelection(TrainedWeights& weights, ScoreTraining& scores)
      : weights_(weights), scores_(scores) {}

  // Selects the elements for the forward pass of this step.
  void begin();
  // SR-STE: straight-through gradients, with a decay of the pruned values.
  void pull_to_zero(StepExchange::Gradients& gradients) const;
  // Keeps what sparsifiers that rank by gradients need of this step.
  void collect_scores(const StepExchange::Gradients& gradients);
  // The mask update of this step: if it regrows, does so in place of an optimizer step.
  bool regrow(std::size_t i, const Tensor& gradient);
  // The sparsifier and scores of an optimizer step that selects again, if the mask update of this
  // step asks for one; then count() follows it. With global scope, the step keeps all positions,
  // and reselect_global() follows the steps of all weights.
  std::optional<Update> reselection(std::size_t i) const;
  void reselect_global();
  // Whether the optimizer step of this step also updates pruned positions.
  bool updates_all(std::size_t i) const {
    return updates_mask(i) && weights_.sparsity[i].stages->mask.kind == "refresh";
  }
  // Counts the kept elements after a change of positions.
  void count(std::size_t i);
  // The same for all weights.
  void count();

  // The values to measure and save: of the state or its average, as sparse as in the forward pass.
  NamedValues<Tensor> measured() const;
  // The pruned share of all elements of weights with stages.
  double sparsity() const;
  // Whether no more stages follow.
  bool is_done() const;

 private:
  // Whether the optimizer step of this step selects positions again.
  bool updates_mask(std::size_t i) const {
    const WeightStages* stages = weights_.sparsity[i].stages;
    return stages && stages->refreshes(weights_.state.step);
  }
  // measured() of a weight, which is dense with global scope and straight-through.
  Tensor measured_alone(std::size_t i) const;
  void calibrate();
  void begin_global();
  std::vector<GivenMask> masks_of(const std::vector<std::size_t>& group, const Spec& by,
                                  const std::function<Dense(std::size_t i)>& value) const;
  void select_global(const std::vector<std::size_t>& group, const Spec& by);
  // Replaces dense values by those that the forward pass would use, straight-through.
  void measure_global(NamedValues<Tensor>& all) const;
  // Merges adapters into their weights.
  void merge_adapters(NamedValues<Tensor>& all) const;
  const Dense* scores_of(std::size_t i, const Spec& by) const;
  void select(std::size_t i, const Spec& by);
  void select_computing(std::size_t i);

  TrainedWeights& weights_;
  ScoreTraining& scores_;
};

}  // namespace sten
