// SPDX-License-Identifier: Apache-2.0
// Statistics of the inputs of a linear layer.
#pragma once
#include <optional>
#include <vector>

#include "libsten/core/tensor/dense.h"

namespace sten {

// Statistics of a layer's inputs: sums over samples x.
struct InputStatistics {
  Index samples = 0;
  std::vector<double> squares;  // sum of x_j^2, [in]; empty: the diagonal of `gram`
  Dense gram;                   // sum of x x^T, F32 [in, in], symmetric; empty: unknown
  // Sum of t x^T, F32 [in, in], where t is the layer's input in the dense model for the sample
  // whose input in the pruned model is x. Empty: t = x.
  Dense cross;
  std::optional<double> target_squares;  // sum of |W t|^2, if `cross` is known

  bool has_gram() const { return gram.size() > 0; }
  bool has_cross() const { return cross.size() > 0; }
};

}  // namespace sten
