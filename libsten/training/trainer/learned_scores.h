// SPDX-License-Identifier: Apache-2.0
// Learned scores: parameters, one per element of a weight, that decide how the element is used.
// Weights and scores get exact gradients; masks get straight-through gradients.
#pragma once
#include <cstdint>

#include "libsten/core/base/spec.h"
#include "libsten/core/tensor/dense.h"

namespace sten {

// A weight and its scores in a step, both F32.
struct ScoredWeight {
  const Dense& w;
  const Dense& scores;
  const Mask* kept;    // current mask of the sparsifier; nullptr: all
  std::uint64_t seed;  // of the step's random numbers
};

class LearnedScores {
 public:
  virtual ~LearnedScores() = default;
  // Whether scores are trained before the first stage, when weights are unmasked.
  virtual bool learn_dense() const { return false; }
  // The weight in the forward pass.
  virtual Dense computing(const ScoredWeight& x) const = 0;
  // Gradients of the loss plus `penalty` times penalty_of(). `gradient`: the gradient of the loss
  // by computing(x), replaced by the gradient by w. Returns the gradient by the scores.
  virtual Dense backward(const ScoredWeight& x, double penalty, Dense& gradient) const = 0;
  // The sum of the elements' penalties, in double.
  virtual double penalty_of(const ScoredWeight& x) const = 0;
  // The weight without randomness. Elements that the sparsifier prunes are arbitrary.
  virtual Dense measured(const ScoredWeight& x) const { return x.w; }
};

// The learned scores of a sparsifier. Error (usage) if its scores are not learned.
const LearnedScores& learned_scores(const Spec& sparsifier);

}  // namespace sten
