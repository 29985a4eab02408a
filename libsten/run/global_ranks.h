// What is compared under a threshold that many tensors share.
#pragma once
#include <functional>
#include <optional>

#include "libsten/run/tensor_plan.h"
#include "libsten/sparsify/block_magnitude.h"

namespace sten {

// Of each tensor another one whose magnitudes are the ranks of its values or blocks.
class GlobalRanks {
 public:
  // Calls f with tensor k and its scores, if there are any; one tensor in memory at a time.
  using With = std::function<void(
      std::size_t k, const std::function<void(const Dense& x, const Dense* scores)>& f)>;
  // For `count` tensors under one treatment, each seen up to once.
  GlobalRanks(const TensorPlan& how, double sparsity, std::size_t count, const With& with);

  Dense of(const Dense& x, const Dense* scores) const;
  // What stays of a tensor, from what stays of its ranks.
  Mask expand(const Shape& shape, Mask ranks) const;
  bool of_blocks() const { return blocks_.has_value(); }

 private:
  bool scored_, movement_;
  bool wide_ = false;        // ranks from scores are F64
  bool below_zero_ = false;  // of movement: all that goes has a score below zero
  std::optional<BlockMagnitude> blocks_;
};

}  // namespace sten
