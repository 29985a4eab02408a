// Which weights of a model become sparse when, by a recipe.
#pragma once
#include "libsten/graph/graph.h"
#include "libsten/recipe/sparsity_schedule.h"

namespace sten {

struct WeightStages {
  std::string weight;
  Spec layout, save;
  // Before the forward pass of a stage's first step the weight gets the positions that the stage's
  // sparsifier selects. Ascending; at least one.
  std::vector<SparsityStage> stages;
  MaskRecipe mask;
  Index mask_begin = 0;
  std::optional<CalibrationRecipe> calibration;
  std::optional<ScoresRecipe> scores;

  // The stage that begins at a step; nullptr where none does.
  const SparsityStage* beginning(Index step) const;
  // The last one that began at a step or before it; nullptr: none yet.
  const SparsityStage* current(Index step) const;
  // Whether the update of that step selects anew, by its current stage.
  bool refreshes(Index step) const;
  // Whether all weights stay, and the forward pass takes those that are selected.
  bool is_straight_through() const { return mask.kind == "straight-through"; }
  // Whether scores say how the weight computes in that step, or are learned for that.
  bool has_scores(Index step) const { return scores && step < scores->end; }
};

// In the order of the recipe's entries, and of the graph's weights within one. Error (usage) for a
// target that is not a weight (with those that are near), for a weight with two entries, for stages
// that do not fit into the steps, and for calibration of a weight that is not of a linear layer. The recipe's steps are filled in (in_steps).
std::vector<WeightStages> weight_stages(const Recipe& r, const Graph& g);

// To try layouts on: of large extents smaller ones, with the same remainders by what blocks and groups
// are usually made of; and numbers that differ as weights do, for what is kept of equal ones lies in a
// few rows, which not every layout holds.
Shape smaller_shape(Shape shape);
Dense random_values(const Shape& shape);

// Tries on random values that every sparsifier, layout and saved layout goes with its weight's
// shape, so that no run ends on what was known before it. Error with the weight's name. Each shape
// is tried once; one weight at a time is in memory, and of a large one no more than some MB where
// `in_little_memory`: with smaller extents, which leave what they left when divided.
void try_sparsity(const std::vector<WeightStages>& weights, const Graph& g,
                  bool in_little_memory = false);

}  // namespace sten
