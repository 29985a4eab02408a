#include "libsten/base/memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace sten {
namespace {

constexpr std::align_val_t cache_line{64};
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t large = 2 * huge_page;
// Enough for the next tensor of the same size in most models, and little beside a model.
constexpr std::size_t most_kept = std::size_t{64} << 20;

struct Block {
  void* data;
  std::size_t bytes;
};

// Freed large blocks. Never destroyed: arrays may outlive it.
struct Kept {
  std::mutex lock;
  std::vector<Block> blocks;
  std::size_t bytes = 0;
};
Kept& kept() {
  static Kept& k = *new Kept;
  return k;
}

// Of at least `bytes`, but not much more.
void* take_kept(std::size_t& bytes) {
  Kept& k = kept();
  const std::lock_guard hold(k.lock);
  for (std::size_t i = 0; i < k.blocks.size(); ++i) {
    const Block b = k.blocks[i];
    if (b.bytes < bytes || b.bytes > bytes + bytes / 8) continue;
    k.blocks.erase(k.blocks.begin() + static_cast<std::ptrdiff_t>(i));
    k.bytes -= b.bytes;
    bytes = b.bytes;
    return b.data;
  }
  return nullptr;
}

void free_large(void* data, std::size_t bytes) {
  Kept& k = kept();
  std::vector<Block> out;
  {
    const std::lock_guard hold(k.lock);
    k.blocks.push_back({data, bytes});
    k.bytes += bytes;
    while (k.bytes > most_kept) {  // the oldest goes first
      out.push_back(k.blocks.front());
      k.bytes -= k.blocks.front().bytes;
      k.blocks.erase(k.blocks.begin());
    }
  }
  for (const Block& b : out) ::operator delete (b.data, std::align_val_t{huge_page});
}

}  // namespace

std::shared_ptr<void> allocate(std::size_t bytes) {
  if (bytes < large)
    return {::operator new(bytes, cache_line), [](void* p) { ::operator delete(p, cache_line); }};
  if (bytes > PTRDIFF_MAX - huge_page) throw std::bad_array_new_length();
  bytes = (bytes + huge_page - 1) / huge_page * huge_page;
  void* data = take_kept(bytes);
  if (!data) {
    data = ::operator new (bytes, std::align_val_t{huge_page});
    (void)madvise(data, bytes, MADV_HUGEPAGE);  // a hint
  }
  return {data, [bytes](void* p) { free_large(p, bytes); }};
}

}  // namespace sten
