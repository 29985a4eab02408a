// What is done with each element by itself.
#pragma once
#include "kernels/block/block.h"

namespace sten::kernels {

// f(i) for 0 <= i < n; f may take 32 bits where n is in them. A thread does four, which are as far
// apart as a block has threads.
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
