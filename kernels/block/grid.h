// Kernels: bodies (block.h) over a grid of blocks, and what starts them.
//
// A Kernel is a struct of plain values, pointers to device memory among them:
//   static constexpr int threads        of a block
//   std::int64_t blocks() const
//   std::size_t shared_bytes() const    of a block, as CountingBlock finds them
//   template <class Block>
//   void operator()(Block& b, std::int64_t block) const    STEN_DEVICE
// Blocks come in any order and several at a time: what one writes to device memory no other one of
// the same launch reads or writes, but by Block::add_global().
//
// A Grid starts them one after the other, in the order of the calls, perhaps later than the call:
//   launch(kernel)
//   most_shared()                bytes of shared memory that a block can have
//   processors()                 how many blocks of that much run at a time
//   scratch<T>(n)                device memory that lasts until the launches so far have ended
//   fetch(p)                     *p of device memory, once they have
// What takes several launches is a function template over a Grid, so that its CPU form is tested.
#pragma once
#include <cstring>
#include <deque>
#include <vector>

#include "kernels/block/block.h"

namespace sten::kernels {

// What the host calls a queue of work for a device; nullptr is the device's own.
using Stream = void*;

// One block after the other, one thread after the other.
class SerialGrid {
 public:
  explicit SerialGrid(Stream = nullptr) {}

  template <class Kernel>
  void launch(const Kernel& kernel) {
    const std::size_t bytes = kernel.shared_bytes();
    std::vector<std::max_align_t> memory(bytes / sizeof(std::max_align_t) + 1);
    for (std::int64_t block = 0; block < kernel.blocks(); ++block) {
      SerialBlock b(Kernel::threads, reinterpret_cast<std::byte*>(memory.data()), bytes);
      kernel(b, block);
    }
  }
  // As much as the smallest of today's devices for servers.
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
