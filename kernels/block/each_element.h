// SPDX-License-Identifier: Apache-2.0
// Kernels of independent elements.
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
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    const std::int64_t first = block * at_once, left = n - first;
    b.for_each_thread([&](int t) {
      each_of(b, t, left < at_once ? left : at_once, [&](std::int64_t k) { f(first + k); });
    });
  }
};

// Calls f(i) or f(block of threads, i) for 0 <= i < n, one thread each.
template <class F, int size>
struct EachThread {
  static constexpr int threads = size;
  std::int64_t n;
  F f;

  std::int64_t blocks() const { return (n + threads - 1) / threads; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    b.for_each_thread([&](int t) {
      const std::int64_t i = block * threads + t;
      if (i >= n) return;
      if constexpr (requires { f(b, i); })
        f(b, i);
      else
        f(i);
    });
  }
};
template <int threads = 128, class Grid, class F>
void launch_threads(Grid&& grid, std::int64_t n, const F& f) {
  grid.launch(EachThread<F, threads>{n, f});
}

}  // namespace sten::kernels
