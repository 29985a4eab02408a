// SPDX-License-Identifier: Apache-2.0
// A Grid (grid.h) that runs checked blocks (checked_block.h) in random order.
#pragma once
#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/block/checked_block.h"
#include "kernels/block/grid.h"

namespace sten::kernels {

class CheckedGrid {
 public:
  explicit CheckedGrid(std::uint64_t seed) : random_(seed) {}

  const std::vector<std::string>& reports() const { return reports_; }

  template <class Kernel>
  void launch(const Kernel& kernel) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(kernel.blocks()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::int64_t block : order) {
      // Exactly the shared memory that the kernel states.
      CheckedBlock b(Kernel::threads, shared_bytes_of(kernel), random_());
      kernel(b, block);
      reports_.insert(reports_.end(), b.reports().begin(), b.reports().end());
    }
  }
  std::size_t most_shared() const { return serial_.most_shared(); }
  int processors() const { return serial_.processors(); }
  template <class T>
  T* scratch(std::int64_t n) {
    return serial_.scratch<T>(n);
  }
  template <class T>
  T fetch(const T* p) {
    return *p;
  }

 private:
  std::mt19937_64 random_;
  SerialGrid serial_;
  std::vector<std::string> reports_;
};

}  // namespace sten::kernels
