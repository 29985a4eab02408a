// SPDX-License-Identifier: Apache-2.0
// The weights of a training run with their stages, for the parts of the trainer.
#pragma once
#include <span>

#include "libsten/core/sparsify/sparsifier.h"
#include "libsten/training/task/task.h"
#include "libsten/training/task/weight_stages.h"
#include "libsten/training/trainer/learned_scores.h"
#include "libsten/training/trainer/train_state.h"

namespace sten {

// How a weight becomes sparse.
struct WeightSparsity {
  bool is_trained = true;                  // false: frozen, or a running statistic
  const WeightStages* stages = nullptr;    // nullptr: stays dense
  std::optional<Sparsifier> accumulating;  // with accumulated scores, as of movement pruning
  bool ranks_by_gradient = false;
  const LearnedScores* learned = nullptr;
  Index kept = 0;
  // The weight in the forward pass of this step, if it differs: straight-through, or by scores.
  std::optional<Tensor> computing;

  bool is_straight_through() const { return stages && stages->is_straight_through(); }
  bool is_global() const { return stages && stages->is_global; }
  bool learns_scores(Index step) const { return learned && stages->has_scores(step); }
  // Whether a step uses the gradient at pruned positions.
  bool needs_all_positions(Index step) const {
    return computing || accumulating || (stages && stages->refreshes(step)) ||
           (ranks_by_gradient && stages->beginning(step + 1));
  }
};

struct TrainedWeights {
  // Error as weight_stages(). The task must outlive this object.
  TrainedWeights(const Task& task, Device device);
  TrainedWeights(const TrainedWeights&) = delete;
  TrainedWeights& operator=(const TrainedWeights&) = delete;

  // Reads the initial weights.
  void read_first();
  // Replaces the state. Error as check_state().
  void restore(TrainState restored);

  bool needs_all_positions(std::size_t i) const {
    return sparsity[i].needs_all_positions(state.step);
  }
  // The stages of the entry's weights.
  std::span<const WeightStages> stages_of(const RecoveryState& r) const;
  // The index of the parameter that has these stages.
  std::size_t index_of(const WeightStages& of) const;
  // Sets the steps of stages that depend on losses, by state.recoveries.
  void set_recovery_stages();

  const Task& task;
  const Device device;
  std::vector<WeightStages> stages;
  std::vector<WeightSparsity> sparsity{};          // by parameter
  std::vector<std::vector<std::size_t>> global{};  // parameters that are selected together
  TrainState state{};
  Index selections = 0;         // changes of positions so far
  std::string first_content{};  // hash of the initial weights, as text
};

// Error if a state is of another recipe: other weights, a missing mask or scores, or other
// optimizer state.
void check_state(const TrainState& state, const TrainedWeights& weights);

}  // namespace sten
