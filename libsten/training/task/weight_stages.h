// SPDX-License-Identifier: Apache-2.0
// Weight stages: when the weights of a model become sparse.
#pragma once
#include "libsten/model/graph/graph.h"
#include "libsten/training/recipe/sparsity_schedule.h"

namespace sten {

struct WeightStages {
  std::string weight;
  std::size_t entry = 0;  // of the recipe
  Spec layout, save;
  // At the first step of a stage, the weight gets the positions that the stage's sparsifier
  // selects, before the forward pass. Ascending; at least one.
  std::vector<SparsityStage> stages;
  MaskRecipe mask;
  Index mask_begin = 0;
  std::optional<CalibrationRecipe> calibration;
  std::optional<ScoresRecipe> scores;
  bool is_global = false;  // selected together with the other weights of the entry

  // The stage that starts at a step; nullptr if none.
  const SparsityStage* beginning(Index step) const;
  // The last stage that has started at a step; nullptr if none.
  const SparsityStage* current(Index step) const;
  // Whether the update of a step selects positions again, by the current stage.
  bool refreshes(Index step) const;
  // Whether weights stay dense, and the forward pass uses the selected values.
  bool is_straight_through() const { return mask.kind == "straight-through"; }
  // Whether the step uses or trains scores.
  bool has_scores(Index step) const { return scores && step < scores->end; }
};

// Returns the stages in the order of the recipe's entries, and for each entry in the order of the
// graph's weights. Error (usage) for a target that matches no weight (with similar names), a weight
// with two entries, stages beyond the last step, and calibration of a weight that is not of a
// linear layer. The recipe's length is in steps (in_steps).
std::vector<WeightStages> weight_stages(const Recipe& r, const Graph& g);

// Substitutes to try layouts on: large extents are reduced with the same remainders by common block
// and group sizes; values differ as those of weights do, since equal values would be kept in a few
// rows, which some layouts cannot hold.
Shape smaller_shape(Shape shape);
Dense random_values(const Shape& shape);

// Tries on random values that sparsifiers, layouts and saved layouts fit the weights' shapes, so
// that no run fails at its end. Error with the weight's name. Tries each shape once, one weight at
// a time. `in_little_memory`: reduces large weights to some MB, by smaller extents with the same
// remainders.
void try_sparsity(const std::vector<WeightStages>& weights, const Graph& g,
                  bool in_little_memory = false);

}  // namespace sten
