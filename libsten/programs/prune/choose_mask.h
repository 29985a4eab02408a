// SPDX-License-Identifier: Apache-2.0
// Choice of the elements of one tensor that stay.
#pragma once
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/programs/prune/global_threshold.h"

namespace sten {

struct PrunedTensor {
  Mask keep;
  std::optional<Tensor> tensor = {};  // if choosing and packing were one step
};

// Prunes x, the values of tensor t of `in`, by the sparsifier of its plan. `scores`: if the plan
// needs them, else nullptr; `options`: for seed and NaN.
PrunedTensor choose_mask(const Checkpoint& in, const TensorInfo& t, const TensorPlan& how,
                         const TensorOptions& options, const Dense& x, const Dense* scores);
// The same for tensor i of a plan, which may be under the global threshold.
PrunedTensor choose_mask(const Checkpoint& in, const PrunePlan& plan, std::size_t i,
                         const GlobalThreshold& threshold, const TensorOptions& options,
                         const Dense& x, const Dense* scores);

}  // namespace sten
