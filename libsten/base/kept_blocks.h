// Blocks of memory that were freed and wait for the next use of their size.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace sten {

struct KeptBlock {
  void* data = nullptr;
  std::size_t bytes = 0;
};

// What is kept and what is in use are together never more than was once in use (or 1.5 times as much,
// see keep_more()), or `always_kept` beside what is. The oldest goes first. Of threads at once.
class KeptBlocks {
 public:
  explicit KeptBlocks(std::size_t always_kept) : always_kept_(always_kept) {}

  // Of at least `bytes`, but not much more; without data where there is none.
  KeptBlock take(std::size_t bytes) {
    const std::lock_guard hold(lock_);
    const auto at = by_size_.lower_bound(bytes);
    if (at == by_size_.end() || at->first > bytes + bytes / 8) return {nullptr, bytes};
    const KeptBlock found{at->second.data, at->first};
    remove(at);
    return found;
  }
  // Of each block that is used from here on.
  void give_out(const KeptBlock& b) {
    const std::lock_guard hold(lock_);
    in_use_ += b.bytes;
    most_in_use_ = std::max(most_in_use_, in_use_);
  }
  // Of each that is not any more. Returns those that go.
  std::vector<KeptBlock> give_back(const KeptBlock& b) {
    const std::lock_guard hold(lock_);
    in_use_ -= b.bytes;
    by_age_.emplace(next_, by_size_.emplace(b.bytes, Aged{b.data, next_}));
    ++next_;
    kept_ += b.bytes;
    std::vector<KeptBlock> out;
    while (kept_ > always_kept_ && in_use_ + kept_ > most()) out.push_back(oldest());
    return out;
  }
  // Whether it has not been said before.
  bool keep_more() {
    const std::lock_guard hold(lock_);
    return !std::exchange(keeps_more_, true);
  }
  // Of one that is not used any more and is not kept.
  void drop(const KeptBlock& b) {
    const std::lock_guard hold(lock_);
    in_use_ -= b.bytes;
  }
  // All go.
  std::vector<KeptBlock> all() {
    const std::lock_guard hold(lock_);
    std::vector<KeptBlock> out;
    while (!by_age_.empty()) out.push_back(oldest());
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
  KeptBlock oldest() {
    const auto at = by_age_.begin()->second;
    const KeptBlock b{at->second.data, at->first};
    remove(at);
    return b;
  }

  const std::size_t always_kept_;
  std::mutex lock_;
  BySize by_size_;
  std::map<std::uint64_t, BySize::iterator> by_age_;
  std::uint64_t next_ = 0;
  bool keeps_more_ = false;
  std::size_t kept_ = 0, in_use_ = 0, most_in_use_ = 0;
};

}  // namespace sten
