// SPDX-License-Identifier: Apache-2.0
// Accumulates statistics of a layer's inputs, batch by batch.
#pragma once
#include "libsten/compute/calibrate/column_products.h"
#include "libsten/compute/calibrate/input_statistics.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

class InputSums {
 public:
  // with_gram: the Gram matrix is summed up, instead of the squares only. with_targets: inputs in
  // the dense model are given, too; with_target_gram: their Gram matrix is wanted.
  InputSums(bool with_gram, bool with_targets, bool with_target_gram = true)
      : with_gram_(with_gram), with_targets_(with_targets), with_target_gram_(with_target_gram) {}

  // Adds a batch x [..., in] and, with targets, t of the same shape. Sums products in float32,
  // squares in double.
  void add(const Dense& x, const Dense& t = {});
  InputStatistics statistics();
  // The sum of t t^T; empty unless wanted.
  Dense target_gram();

 private:
  void add_squares(Index rows, Index in, const float* x);

  bool with_gram_, with_targets_, with_target_gram_;
  Index inputs_ = 0;
  InputStatistics sums_;
  std::optional<ColumnProducts> gram_, cross_, target_gram_;
};

// The sum of |W t|^2 for W [out, in]; `gram` is the sum of t t^T.
double squares_of_outputs(const Tensor& w, const Dense& gram);

}  // namespace sten
