// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

#include "libsten/core/base/free_list.h"
#include "libsten/core/base/memory_left.h"
#include "libsten/core/base/memory_pool.h"

namespace sten {
namespace {

constexpr std::size_t cache_line = 64, huge_page = std::size_t{2} << 20;
constexpr std::size_t large = std::size_t{1} << 18;
// Holds the next tensor of the same size in most models, and is little compared with a model.
constexpr std::size_t always_pooled = std::size_t{64} << 20;
// Larger requests are checked against the available memory: the system overcommits, and kills a
// process that uses too much.
constexpr std::size_t huge = std::size_t{256} << 20;

std::align_val_t block_alignment(const FreeBlock& b) {
  return std::align_val_t{b.bytes >= huge_page ? huge_page : cache_line};
}
void take_from_system(FreeBlock& b) {
  b.data = ::operator new(b.bytes, block_alignment(b));
  if (b.bytes >= huge_page) (void)madvise(b.data, b.bytes, MADV_HUGEPAGE);  // a hint
}
void give_to_system(const FreeBlock& b) { ::operator delete(b.data, block_alignment(b)); }

// The pool of large blocks. Never destroyed: arrays may outlive static objects.
FreeList& pool() {
  static FreeList& k = *new FreeList(always_pooled);
  return k;
}

// Rounds up, so that a block fits tensors of similar size.
std::size_t rounded(std::size_t bytes) {
  const std::size_t step = bytes >= 2 * huge_page ? huge_page : large / 4;
  return (bytes + step - 1) / step * step;
}

}  // namespace

std::shared_ptr<void> allocate(std::size_t bytes) {
  if (bytes < large) {
    constexpr std::align_val_t alignment{cache_line};
    return {::operator new(bytes, alignment), [](void* p) { ::operator delete(p, alignment); }};
  }
  if (bytes > PTRDIFF_MAX - huge_page) throw std::bad_array_new_length();
  FreeBlock b = pool().take(rounded(bytes));
  if (!b.data) {
    if (bytes >= huge && bytes > memory_left()) {
      empty_memory_pool();
      if (bytes > memory_left()) throw std::bad_alloc();
    }
    take_from_system(b);
  }
  pool().give_out(b);
  return {b.data, [b](void*) {
            for (const FreeBlock& out : pool().give_back(b)) give_to_system(out);
          }};
}

std::shared_ptr<void> allocate_in_arena(std::size_t bytes, Arena arena) {
  constexpr std::size_t block_size = 8 * huge_page;
  if (bytes >= huge_page) return allocate(bytes);
  struct Block {
    std::weak_ptr<void> memory;
    std::size_t used = 0;
  };
  static std::mutex lock;
  static auto& blocks = *new std::array<Block, 2>;  // per arena; never destroyed, as the pool
  const std::lock_guard hold(lock);
  Block& block = blocks.at(static_cast<std::size_t>(arena));
  std::shared_ptr<void> owner = block.memory.lock();
  if (!owner || bytes > block_size - block.used) {
    block.memory = owner = allocate(block_size);
    block.used = 0;
  }
  auto* const at = static_cast<std::byte*>(owner.get()) + block.used;
  block.used += (bytes + cache_line - 1) / cache_line * cache_line;
  return {at, [owner = std::move(owner)](void*) {}};
}

void enlarge_memory_pool() {
  if (!pool().enlarge()) return;
  map_large_blocks();
  // The heap is left to short-lived buffers of products.
  mallopt(M_TRIM_THRESHOLD, 32 * huge_page);
}

void map_large_blocks() { mallopt(M_MMAP_THRESHOLD, huge_page); }

void empty_memory_pool() {
  for (const FreeBlock& b : pool().all()) give_to_system(b);
  malloc_trim(0);
}

}  // namespace sten
