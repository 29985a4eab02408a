// SPDX-License-Identifier: Apache-2.0
// Loss and accuracy of logits.
#pragma once
#include "libsten/training/task/f1.h"

namespace sten {

// The loss is a mean over predictions: rows, or predicted tokens.
struct Measured {
  double loss = 0, accuracy = 0;
  Index count = 0;             // predictions
  std::optional<double> f1{};  // if labels have names
};

// Sums over predictions, in double: -log softmax(logits)[label], and the number of labels with the
// largest logit (the first one of equals); no hit if a logit is NaN.
struct PredictionSums {
  double loss = 0;
  Index hits = 0, count = 0;
  std::vector<F1Counts> f1{};  // by class, or of all entities; empty: not counted

  PredictionSums& operator+=(const PredictionSums& more);
  Measured measured() const;
};

// `scorer`: also counts for F1. logits [..., classes], F32; labels [...], I64; ignored_label is not
// counted. Deterministic for every number of threads.
PredictionSums predictions_of(const Dense& logits, const Dense& labels,
                              const F1Scorer* scorer = nullptr);

// The same for logits in slices of their classes.
class SlicedPredictions {
 public:
  explicit SlicedPredictions(const Dense& labels);
  // logits [..., n]: those of the next n classes.
  void add(const Dense& logits);
  PredictionSums sums() const;

 private:
  struct Row {
    double most, sum = 0, label = 0;  // logits; the sum of exp(logit - most)
    Index first_most = 0;             // the first class with the largest logit
    bool has_nan = false;
  };

  Values labels_;
  std::vector<Row> rows_;
  Index classes_ = 0;  // so far
};

}  // namespace sten
