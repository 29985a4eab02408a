// SPDX-License-Identifier: Apache-2.0
// Eviction of weights from caches. Products of few tokens read each weight once, and a model has
// more weights than caches hold.
#pragma once
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

class ColdCaches {
 public:
  // Whether a product of shape M, K, N is measured with its weight in memory: at most 32 tokens,
  // and a weight that exceeds the cache of a core.
  static bool are_asked(const Shape& shape);

  ColdCaches();
  // Reads as much memory as caches hold, at most a quarter of a GB.
  void sweep() const;
  std::size_t bytes() const { return sizeof(std::uint64_t) * memory_.size(); }

 private:
  std::vector<std::uint64_t> memory_;
};

}  // namespace sten
