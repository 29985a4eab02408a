// Accumulates statistics of a layer's inputs, batch by batch.
#pragma once
#include "libsten/compute/calibrate/input_statistics.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

class InputSums {
 public:
  // Without a Gram matrix, only sums of squares. with_targets: inputs in the dense model are given,
  // too.
  InputSums(bool with_gram, bool with_targets) : gram_(with_gram), targets_(with_targets) {}

  // Adds a batch x [..., in] and, with targets, t of the same shape. Sums products in float32,
  // squares in double.
  void add(const Dense& x, const Dense& t = {});
  InputStatistics statistics() { return std::move(sums_); }
  // The sum of t t^T; empty without targets.
  Dense target_gram() { return std::move(target_); }

 private:
  bool gram_, targets_;
  InputStatistics sums_;
  Dense target_;
};

// The sum of |W t|^2 for W [out, in]; `gram` is the sum of t t^T.
double squares_of_outputs(const Tensor& w, const Dense& gram);

}  // namespace sten
