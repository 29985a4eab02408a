// SPDX-License-Identifier: Apache-2.0
// Global scope: one threshold over several tensors, by values, blocks or scores.
#pragma once
#include <optional>

#include "libsten/core/sparsify/block_magnitude.h"
#include "libsten/core/sparsify/global_magnitude.h"

namespace sten {

class GlobalSelection {
 public:
  // Calls f(tensor k, its scores), or f(tensor k, nullptr) without scores.
  using Visit = std::function<void(
      std::size_t k, const std::function<void(const Dense& x, const Dense* scores)>& f)>;

  // Whether a sparsifier ranks elements or blocks by one number, so that several tensors can be
  // ranked together.
  static bool supports(const Spec& sparsifier);

  // Finds the threshold that prunes `sparsity` of all elements or blocks of `count` tensors, by a
  // sparsifier for which supports(). With scores, elements rank as those of `movement` for this
  // sparsifier, and of `gradient` otherwise. Each tensor is visited several times.
  GlobalSelection(const Spec& sparsifier, bool has_scores, std::size_t count, const Visit& visit,
                  double sparsity);

  // The mask of x, which is tensor k.
  Mask select(std::size_t k, const Dense& x, const Dense* scores) const;
  // Elements, or blocks.
  Index elements() const { return magnitude_->elements(); }
  Index dropped() const { return magnitude_->dropped(); }
  bool is_of_blocks() const { return blocks_.has_value(); }

 private:
  // A tensor whose magnitudes are the ranks of x's values or blocks.
  Dense ranks(const Dense& x, const Dense* scores) const;

  bool movement_ = false;
  bool wide_ = false;        // ranks from scores are F64
  bool below_zero_ = false;  // of movement: all pruned elements have negative scores
  std::optional<BlockMagnitude> blocks_;
  std::optional<GlobalMagnitude> magnitude_;
};

}  // namespace sten
