#include "libsten/base/memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "libsten/base/kept_memory.h"
#include "libsten/base/memory_left.h"

namespace sten {
namespace {

constexpr std::size_t cache_line = 64, huge_page = std::size_t{2} << 20;
constexpr std::size_t large = std::size_t{1} << 18;
// Enough for the next tensor of the same size in most models, and little beside a model.
constexpr std::size_t always_kept = std::size_t{64} << 20;
// From here on the system is asked whether it has the memory: it gives out more than it has, and
// ends a process that then uses it.
constexpr std::size_t huge = std::size_t{256} << 20;

struct Block {
  void* data;
  std::size_t bytes;

  std::align_val_t alignment() const {
    return std::align_val_t{bytes >= huge_page ? huge_page : cache_line};
  }
  void take() {
    data = ::operator new(bytes, alignment());
    if (bytes >= huge_page) (void)madvise(data, bytes, MADV_HUGEPAGE);  // a hint
  }
  void free() const { ::operator delete(data, alignment()); }
};

// Freed large blocks. What is kept and what is in use are together never more than was once in use
// (or 1.5 times as much, see keep_more_memory()), or always_kept beside what is. Never destroyed:
// arrays may outlive it.
class Kept {
 public:
  // Of at least `bytes`, but not much more; nullptr where there is none.
  Block take(std::size_t bytes) {
    const std::lock_guard hold(lock_);
    Block found{nullptr, bytes};
    const auto at = by_size_.lower_bound(bytes);
    if (at != by_size_.end() && at->first <= bytes + bytes / 8) {
      found = {at->second.data, at->first};
      remove(at);
    }
    return found;
  }
  void give_out(Block b) {
    const std::lock_guard hold(lock_);
    in_use_ += b.bytes;
    most_in_use_ = std::max(most_in_use_, in_use_);
  }
  // Returns those that go.
  std::vector<Block> give_back(Block b) {
    const std::lock_guard hold(lock_);
    in_use_ -= b.bytes;
    by_age_.emplace(next_, by_size_.emplace(b.bytes, Aged{b.data, next_}));
    ++next_;
    kept_ += b.bytes;
    std::vector<Block> out;
    while (kept_ > always_kept && in_use_ + kept_ > most()) out.push_back(oldest());
    return out;
  }
  void keep_more() {
    const std::lock_guard hold(lock_);
    if (keeps_more_) return;
    keeps_more_ = true;
    // Each a mapping of its own, which goes back to the system as it is freed. The C library would
    // take later ones from its heap, where the gaps between them stay: a third more for a BERT. Its
    // heap keeps what products take for a moment.
    mallopt(M_MMAP_THRESHOLD, huge_page);
    mallopt(M_TRIM_THRESHOLD, 32 * huge_page);
  }
  std::vector<Block> all() {
    const std::lock_guard hold(lock_);
    std::vector<Block> out;
    while (kept_ > 0) out.push_back(oldest());
    return out;
  }

 private:
  struct Aged {
    void* data;
    std::uint64_t age;
  };
  using BySize = std::multimap<std::size_t, Aged>;

  std::size_t most() const { return keeps_more_ ? most_in_use_ / 2 * 3 : most_in_use_; }
  void remove(BySize::iterator at) {
    kept_ -= at->first;
    by_age_.erase(at->second.age);
    by_size_.erase(at);
  }
  Block oldest() {
    const auto at = by_age_.begin()->second;
    const Block b{at->second.data, at->first};
    remove(at);
    return b;
  }

  std::mutex lock_;
  BySize by_size_;
  std::map<std::uint64_t, BySize::iterator> by_age_;
  std::uint64_t next_ = 0;
  bool keeps_more_ = false;
  std::size_t kept_ = 0, in_use_ = 0, most_in_use_ = 0;
};
Kept& kept() {
  static Kept& k = *new Kept;
  return k;
}

// So that tensors of nearly one size can follow each other.
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
  Block b = kept().take(rounded(bytes));
  if (!b.data) {
    if (bytes >= huge && bytes > memory_left()) {
      release_kept_memory();
      if (bytes > memory_left()) throw std::bad_alloc();
    }
    b.take();
  }
  kept().give_out(b);
  return {b.data, [b](void*) {
            for (const Block& out : kept().give_back(b)) out.free();
          }};
}

void keep_more_memory() { kept().keep_more(); }

void release_kept_memory() {
  for (const Block& b : kept().all()) b.free();
}

}  // namespace sten
