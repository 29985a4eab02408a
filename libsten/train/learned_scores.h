// Scores that are parameters of the training: each element of a weight has one, and computes as its
// score says. Both get exact gradients, but for masks, whose gradients go straight through.
#pragma once
#include <cstdint>

#include "libsten/base/spec.h"
#include "libsten/tensor/dense.h"

namespace sten {

// A weight and its scores, F32, in one step.
struct ScoredWeight {
  const Dense& w;
  const Dense& scores;
  const Mask* kept;    // what the sparsifier keeps now; nullptr: all
  std::uint64_t seed;  // of the step's random numbers
};

class LearnedScores {
 public:
  virtual ~LearnedScores() = default;
  // Whether they learn before the first stage, when all weights compute unmasked.
  virtual bool learn_dense() const { return false; }
  // What the weight computes with in that step.
  virtual Dense computing(const ScoredWeight& x) const = 0;
  // `gradient` is that of the loss by computing(x), and becomes that by w; the one by the scores is
  // returned. Both are of the loss and `penalty` times penalty_of().
  virtual Dense backward(const ScoredWeight& x, double penalty, Dense& gradient) const = 0;
  // The sum of what the elements cost, in double.
  virtual double penalty_of(const ScoredWeight& x) const = 0;
  // What the weight is without chance; what the sparsifier does not keep does not matter.
  virtual Dense measured(const ScoredWeight& x) const { return x.w; }
};

// Those of a sparsifier; Error (usage) where its scores are not learned in training.
const LearnedScores& learned_scores(const Spec& sparsifier);

}  // namespace sten
