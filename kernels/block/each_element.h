// The kernel of independent elements.
#pragma once
#include "kernels/block/block.h"

namespace sten::kernels {

// Calls f(i) for 0 <= i < n; f can take 32-bit indices if n fits. A thread handles four elements,
// whose distance is the number of threads of a block.
template <class F>
struct EachElement {
  static constexpr int threads = 256, at_once = 4 * threads;
  F f;
  std::int64_t n;

  std::int64_t blocks() const { return (n + at_once - 1) / at_once; }
  std::size_t shared_bytes() const { return 0; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    const std::int64_t first = block * at_once, left = n - first;
    b.for_each_thread([&](int t) {
      each_of(b, t, left < at_once ? left : at_once, [&](std::int64_t k) { f(first + k); });
    });
  }
};

}  // namespace sten::kernels
