// Ranks of values or blocks under a global threshold.
#pragma once
#include <functional>
#include <optional>

#include "libsten/core/sparsify/block_magnitude.h"
#include "libsten/programs/plan/tensor_plan.h"

namespace sten {

// Replaces each tensor by one whose magnitudes are the ranks of the tensor's values or blocks.
class GlobalRanks {
 public:
  // Calls f with tensor k and its scores, or nullptr; one tensor in memory at a time.
  using With = std::function<void(
      std::size_t k, const std::function<void(const Dense& x, const Dense* scores)>& f)>;
  // For `count` tensors with one plan. Each tensor is visited at most once.
  GlobalRanks(const TensorPlan& how, double sparsity, std::size_t count, const With& with);

  Dense of(const Dense& x, const Dense* scores) const;
  // Expands the mask of ranks to the mask of the tensor.
  Mask expand(const Shape& shape, Mask ranks) const;
  bool of_blocks() const { return blocks_.has_value(); }

 private:
  bool scored_, movement_;
  bool wide_ = false;        // ranks from scores are F64
  bool below_zero_ = false;  // of movement: all pruned elements have negative scores
  std::optional<BlockMagnitude> blocks_;
};

}  // namespace sten
