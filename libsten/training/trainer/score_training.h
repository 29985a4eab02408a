// SPDX-License-Identifier: Apache-2.0
// Training of learned scores.
#pragma once
#include <map>

#include "libsten/training/trainer/recipe_optimizer.h"
#include "libsten/training/trainer/step_exchange.h"
#include "libsten/training/trainer/trained_weights.h"

namespace sten {

// For the weights with LearnedScores. Scores are on the CPU; i is the index of a parameter.
class ScoreTraining {
 public:
  explicit ScoreTraining(TrainedWeights& weights) : weights_(weights) {}

  // Computes the weight of this step's forward pass. In the step after the last one of the scores,
  // replaces the weight by its measured value, fixes its mask, and returns true.
  bool begin(std::size_t i);
  // Replaces the gradients of the forward weights by those of the weights, and computes those of
  // scores.
  void take_gradients(StepExchange::Gradients& gradients);
  // Updates the scores that have gradients, without decay. `rate`: of the step's weights.
  void update(const RecipeOptimizer& optimizer, double rate);
  // The value of the weight to measure and save.
  Tensor measured(std::size_t i) const;

 private:
  ScoredWeight scored(std::size_t i, const Dense& w) const;
  Dense value_here(std::size_t i) const;
  void end(std::size_t i);

  TrainedWeights& weights_;
  std::map<std::size_t, Mask> selected_;     // of this step
  std::map<std::size_t, Tensor> gradients_;  // of scores in this step
};

}  // namespace sten
