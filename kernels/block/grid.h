// SPDX-License-Identifier: Apache-2.0
// Grids: launch bodies (block.h) as kernels over many blocks.
//
// A Kernel is a struct of plain values and pointers to device memory:
//   static constexpr int threads        of a block
//   std::int64_t blocks() const
//   std::size_t shared_bytes() const    of a block, as CountingBlock finds them; default: 0
//   template <class Block>
//   void operator()(Block& b, std::int64_t block) const    STEN_DEVICE
// Blocks run in any order and several at a time. A block does not access device memory that another
// block of the same launch writes, except by Block::add_global().
//
// A Grid runs kernels in the order of the launches, possibly asynchronously:
//   launch(kernel)
//   most_shared()                maximum bytes of shared memory per block
//   processors()                 number of blocks with so much shared memory that run at a time
//   scratch<T>(n)                device memory that lasts until the launches so far have finished
//   fetch(p)                     *p in device memory, after they have finished
// Algorithms with several launches are function templates over a Grid, so that their CPU form is
// tested.
#pragma once
#include <cstring>
#include <deque>
#include <vector>

#include "kernels/block/block.h"

namespace sten::kernels {

// A queue of work of a device; nullptr is the device's default queue.
using Stream = void*;

template <class Kernel>
std::size_t shared_bytes_of(const Kernel& kernel) {
  if constexpr (requires { kernel.shared_bytes(); })
    return kernel.shared_bytes();
  else
    return 0;
}

// A Grid on the CPU that runs one block and one thread after the other.
class SerialGrid {
 public:
  explicit SerialGrid(Stream = nullptr) {}

  template <class Kernel>
  void launch(const Kernel& kernel) {
    const std::size_t bytes = shared_bytes_of(kernel);
    std::vector<std::max_align_t> memory(bytes / sizeof(std::max_align_t) + 1);
    for (std::int64_t block = 0; block < kernel.blocks(); ++block) {
      SerialBlock b(Kernel::threads, reinterpret_cast<std::byte*>(memory.data()), bytes);
      kernel(b, block);
    }
  }
  // The shared memory of the smallest current data-center GPU.
  std::size_t most_shared() const { return 163 << 10; }
  int processors() const { return 4; }
  template <class T>
  T* scratch(std::int64_t n) {
    scratch_.emplace_back((static_cast<std::size_t>(n) * sizeof(T)) / sizeof(std::max_align_t) + 1);
    return reinterpret_cast<T*>(scratch_.back().data());
  }
  template <class T>
  T fetch(const T* p) {
    return *p;
  }

 private:
  std::deque<std::vector<std::max_align_t>> scratch_;
};

}  // namespace sten::kernels
