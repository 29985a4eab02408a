// Products of few tokens read each weight once, and a model has more of them than caches hold.
#pragma once
#include <vector>

#include "libsten/base/shape.h"

namespace sten {

class ColdCaches {
 public:
  // Whether a product of that shape, M, K, N, is measured with its weight in memory: of at most 32
  // tokens, and of a weight that no core's own cache holds.
  static bool are_asked(const Shape& shape);

  ColdCaches();
  // Reads as much memory as caches hold, or a quarter of a GB of it.
  void sweep() const;
  std::size_t bytes() const { return sizeof(std::uint64_t) * memory_.size(); }

 private:
  std::vector<std::uint64_t> memory_;
};

}  // namespace sten
