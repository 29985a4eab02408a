// One magnitude threshold over many tensors.
#pragma once
#include <functional>
#include <vector>

#include "libsten/tensor/dense.h"

namespace sten {

// Masks exactly llround(sparsity * N) of the N elements of all tensors together, smallest magnitude
// first; among equals the later goes first, in the order in which the tensors are given.
class GlobalMagnitude {
 public:
  // `count` tensors; with(k, f) calls f with tensor k, and is called several times for each, one
  // tensor in memory at a time. Tensors may differ in dtype; all are prunable, no element is NaN.
  using With = std::function<void(std::size_t k, const std::function<void(const Dense&)>& f)>;
  GlobalMagnitude(std::size_t count, const With& with, double sparsity);

  // x is tensor k again.
  Mask select(std::size_t k, const Dense& x) const;
  Index elements() const { return elements_; }
  Index dropped() const { return drop_; }

 private:
  template <class U>
  void find(std::size_t count, const With& with);

  Index elements_ = 0, drop_ = 0;
  bool mixed_ = false;  // dtypes differ: keys are those of the values as double
  std::uint64_t boundary_ = 0;
  struct Share {
    Index equals = 0, stay = 0;  // elements at the boundary, and how many of them stay
  };
  std::vector<Share> shares_;
};

}  // namespace sten
