// SPDX-License-Identifier: Apache-2.0
// Global threshold: one magnitude threshold over many tensors.
#pragma once
#include <functional>
#include <vector>

#include "libsten/core/tensor/dense.h"

namespace sten {

// Masks exactly llround(sparsity * N) of the N elements of all tensors, smallest magnitude first.
// Among equal magnitudes, the last in the order of tensors goes first.
class GlobalMagnitude {
 public:
  // `with(k, f)` calls f with tensor k of `count`. Each tensor is visited several times; only one
  // is in memory at a time. Tensors have prunable dtypes, which may differ, and no NaN.
  using With = std::function<void(std::size_t k, const std::function<void(const Dense&)>& f)>;
  GlobalMagnitude(std::size_t count, const With& with, double sparsity);

  // Returns the mask of x, which is tensor k.
  Mask select(std::size_t k, const Dense& x) const;
  Index elements() const { return elements_; }
  Index dropped() const { return drop_; }

 private:
  template <class U>
  void find(std::size_t count, const With& with);

  Index elements_ = 0, drop_ = 0;
  bool mixed_ = false;  // dtypes differ: keys are those of doubles
  std::uint64_t boundary_ = 0;
  struct Share {
    Index equals = 0, stay = 0;  // elements at the threshold, and how many of them are kept
  };
  std::vector<Share> shares_;
};

}  // namespace sten
