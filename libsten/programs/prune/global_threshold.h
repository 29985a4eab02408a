// SPDX-License-Identifier: Apache-2.0
// The threshold of --scope global: one for all tensors of a checkpoint.
#pragma once
#include "libsten/core/sparsify/global_selection.h"
#include "libsten/programs/prune/weight_reader.h"

namespace sten {

class GlobalThreshold {
 public:
  // Finds the threshold over the tensors of the plan that are under it. Tied tensors count once.
  // Keeps references to `plan` and `reader`.
  GlobalThreshold(const PrunePlan& plan, double sparsity, const WeightReader& reader);

  // The mask of tensor i, with values x and the scores of the first of its equals.
  Mask select(std::size_t i, const Dense& x, const Dense* scores) const;

  struct Counts {
    Index dropped, elements;
    bool of_blocks;
    std::size_t tensors;
  };
  // None if no tensor is under the threshold.
  std::optional<Counts> counts() const;

 private:
  void find(double sparsity);
  // Calls f(scores to rank tensor i by): movement ranks zeros of a sparse tensor last.
  void with_ranked(std::size_t i, const Dense& x, const Dense* scores,
                   const std::function<void(const Dense*)>& f) const;

  const PrunePlan& plan_;
  const WeightReader& reader_;
  std::vector<std::size_t> tensors_;   // under the threshold
  std::vector<std::size_t> position_;  // of a tensor in tensors_
  std::optional<GlobalSelection> selection_;
};

}  // namespace sten
