// SPDX-License-Identifier: Apache-2.0
// Comparison of the outputs of two models.
#pragma once
#include <vector>

#include "libsten/core/tensor/dense.h"

namespace sten {

// Differences of elements that are numbers in both. Two NaNs are equal, and so are two infinities
// of one sign.
struct OutputDifference {
  double largest = 0;  // |a - b|; infinite if only one of the elements is finite
  double sum = 0;      // of |a - b|
  Index count = 0;

  double mean() const { return count ? sum / static_cast<double>(count) : 0; }
  void add(const Dense& a, const Dense& b);
};

// Differences of the rows of logits [..., classes].
struct LogitsDifference {
  Index rows = 0;
  Index agreed = 0;  // rows with the same class of the largest logit (the first one of equals);
                     // a row with a NaN never agrees
  double divergence = 0;  // the sum of KL(softmax(reference) || softmax(logits)), in nats

  double agreement() const;
  double mean_divergence() const;
  // `counts`: whether each row counts; empty: all rows count.
  void add(const Dense& logits, const Dense& reference, const std::vector<bool>& counts = {});
};

}  // namespace sten
