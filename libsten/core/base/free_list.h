// SPDX-License-Identifier: Apache-2.0
// Free list of a memory pool: freed blocks by size, for reuse.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace sten {

struct FreeBlock {
  void* data = nullptr;
  std::size_t bytes = 0;
};

// Thread-safe. Cached and used blocks together never exceed the highest use so far (1.5 times as
// much after enlarge()), except for `always_pooled` bytes. Releases the oldest blocks first.
class FreeList {
 public:
  explicit FreeList(std::size_t always_pooled) : always_pooled_(always_pooled) {}

  // Takes a cached block of `bytes` to 9/8 * `bytes`; without data if none is cached.
  FreeBlock take(std::size_t bytes) {
    const std::lock_guard hold(lock_);
    for (auto at = by_size_.lower_bound(bytes);
         at != by_size_.end() && at->first <= bytes + bytes / 8; ++at) {
      if (at->second.empty()) continue;
      const FreeBlock found{at->second.back().data, at->first};
      at->second.pop_back();
      pooled_ -= found.bytes;
      return found;
    }
    return {nullptr, bytes};
  }
  // Counts a block as used. The caller calls it for every block, cached or new.
  void give_out(const FreeBlock& b) {
    const std::lock_guard hold(lock_);
    in_use_ += b.bytes;
    most_in_use_ = std::max(most_in_use_, in_use_);
  }
  // Caches a block that is no longer used. Returns the blocks to release.
  std::vector<FreeBlock> give_back(const FreeBlock& b) {
    const std::lock_guard hold(lock_);
    in_use_ -= b.bytes;
    by_size_[b.bytes].push_back({b.data, next_++});
    pooled_ += b.bytes;
    std::vector<FreeBlock> out;
    while (pooled_ > always_pooled_ && in_use_ + pooled_ > most()) out.push_back(oldest());
    return out;
  }
  // Allows 1.5 times the highest use. Returns whether this was the first call.
  bool enlarge() {
    const std::lock_guard hold(lock_);
    return !std::exchange(is_enlarged_, true);
  }
  // Counts a block as released that is neither used nor cached.
  void drop(const FreeBlock& b) {
    const std::lock_guard hold(lock_);
    in_use_ -= b.bytes;
  }
  // Removes all cached blocks and returns them for release.
  std::vector<FreeBlock> all() {
    const std::lock_guard hold(lock_);
    std::vector<FreeBlock> out;
    while (pooled_ > 0) out.push_back(oldest());
    return out;
  }

 private:
  struct Aged {
    void* data;
    std::uint64_t age;
  };

  std::size_t most() const { return is_enlarged_ ? most_in_use_ / 2 * 3 : most_in_use_; }
  // Removes and returns the oldest cached block, which must exist. Erases sizes without blocks only
  // here, so that most calls allocate no map nodes.
  FreeBlock oldest() {
    std::erase_if(by_size_, [](const auto& of_size) { return of_size.second.empty(); });
    const auto at = std::ranges::min_element(
        by_size_, {}, [](const auto& of_size) { return of_size.second.front().age; });
    const FreeBlock b{at->second.front().data, at->first};
    at->second.erase(at->second.begin());
    pooled_ -= b.bytes;
    return b;
  }

  const std::size_t always_pooled_;
  std::mutex lock_;
  std::map<std::size_t, std::vector<Aged>> by_size_;  // by age
  std::uint64_t next_ = 0;
  bool is_enlarged_ = false;
  std::size_t pooled_ = 0, in_use_ = 0, most_in_use_ = 0;
};

}  // namespace sten
