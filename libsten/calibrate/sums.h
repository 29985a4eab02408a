// Statistics of a layer's inputs, batch by batch.
#pragma once
#include "libsten/calibrate/layer.h"
#include "libsten/tensor/tensor.h"

namespace sten {

class InputSums {
 public:
  // Without a Gram matrix squares alone; `with_targets`: the dense model's inputs are given too.
  InputSums(bool with_gram, bool with_targets) : gram_(with_gram), targets_(with_targets) {}

  // x: [..., in]; t of the same shape with targets. Batches are summed in float32, their sums too.
  void add(const Dense& x, const Dense& t = {});
  InputStatistics statistics() { return std::move(sums_); }
  // Sum of t t^T; empty without targets.
  Dense target_gram() { return std::move(target_); }

 private:
  bool gram_, targets_;
  InputStatistics sums_;
  Dense target_;
};

// Sum of |W t|^2, W [out, in], where `gram` is the sum of t t^T.
double squares_of_outputs(const Tensor& w, const Dense& gram);

}  // namespace sten
