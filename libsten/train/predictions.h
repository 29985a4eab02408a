// How well logits predict labels.
#pragma once
#include "libsten/train/f1.h"

namespace sten {

inline constexpr Index ignored_label = -100;  // as cross-entropy has it

// The loss is a mean over predictions: over rows, or over the characters to be predicted.
struct Measured {
  double loss = 0, accuracy = 0;
  Index count = 0;             // predictions
  std::optional<double> f1{};  // where labels have names
};

// Over predictions, in double: -log softmax(logits)[label], and how many labels have the largest
// logit, the first of equal ones; none if a logit is NaN.
struct PredictionSums {
  double loss = 0;
  Index hits = 0, count = 0;
  std::vector<F1Counts> f1{};  // by class, or of all entities; empty: not counted

  PredictionSums& operator+=(const PredictionSums& more);
  Measured measured() const;
};

// `scorer`: counts for F1, too. logits [..., classes], F32; labels [...], I64;
// those that are ignored_label do not count. The same at any thread count.
PredictionSums predictions_of(const Dense& logits, const Dense& labels,
                              const F1Scorer* scorer = nullptr);

}  // namespace sten
