// How far the outputs of one model are from those of another.
#pragma once
#include "libsten/tensor/dense.h"

namespace sten {

// Of elements that are numbers in both; one NaN is as another, and an infinity as its like.
struct OutputDifference {
  double largest = 0;  // |a - b|; infinite where only one of them is a finite number
  double sum = 0;      // of |a - b|
  Index count = 0;

  double mean() const { return count ? sum / static_cast<double>(count) : 0; }
  void add(const Dense& a, const Dense& b);
};

// Of logits [..., classes], row by row.
struct LogitsDifference {
  Index rows = 0;
  Index agreed = 0;  // rows whose largest logit, the first of equal ones, is the same class; none
                     // where one is NaN
  double divergence = 0;  // the sum of KL(softmax(reference) || softmax(logits)), in nats

  double agreement() const;
  double mean_divergence() const;
  void add(const Dense& logits, const Dense& reference);
};

}  // namespace sten
