// SPDX-License-Identifier: Apache-2.0
// The matching of a ragged chunk by a block of threads, with the decisions of ChunkMatcher
// (libsten/core/layout/nmg_matching.h).
#pragma once
#include "kernels/block/block.h"
#include "kernels/nmg_exact.h"

namespace sten::kernels {

// Index of the pattern with these n ascending rows, as PatternTable::find(). Follows the recursion
// by which PatternTable::fill() lists the patterns f(n, m).
template <class Rows>
STEN_HOST_DEVICE std::int32_t nmg_rank(const Rows& rows, std::int64_t n, std::int64_t m,
                                       std::int64_t count) {
  auto all = static_cast<std::uint32_t>(count), left = static_cast<std::uint32_t>(n);
  std::uint32_t at = 0;
  bool s = false, reversed = false;
  for (auto rest = static_cast<std::uint32_t>(m); left > 0 && left < rest; --rest) {
    const std::uint32_t with_last = all * left / rest, without = all - with_last;
    if (rows[left - 1] == rest - 1) {
      if (!reversed) at += without;
      all = with_last;
      s = !s;
      --left;
    } else {
      if (reversed) at += with_last;
      all = without;
      reversed = reversed != s;
      s = true;
    }
  }
  return static_cast<std::int32_t>(at);
}

// Assigns patterns to strips whose own patterns reach into rows of padding. There every pattern
// with the same rows before the padding is valid, and the choice is that of packing on the CPU.
template <class Block>
class NmgMatchingBlock {
  template <class U>
  using Shared = typename Block::template Shared<U>;
  static constexpr std::int32_t none = -1;

 public:
  STEN_HOST_DEVICE NmgMatchingBlock(Block& b, const NmgFormat& f)
      : b_(b), f_(f), matched_(b.template shared<std::int32_t>(f.strips())) {
    members_ = b.template shared<std::uint16_t>(f.strips());
    fill_ = b.template shared<std::int32_t>(f.count);
    via_ = b.template shared<std::int32_t>(f.count);
    visited_ = b.template shared<std::uint32_t>(f.count);
    queue_ = b.template shared<std::int32_t>(f.count);
    free_ = b.template shared<std::uint16_t>(f.m);
    chosen_ = b.template shared<std::int32_t>(f.n);
    merged_ = b.template shared<std::uint16_t>(f.n);
  }

  // pattern_of [strips]: patterns of the fit for `cols` strips of `rows` rows. Returns the assigned
  // patterns [strips]. Between phases.
  STEN_DEVICE Shared<std::int32_t> place(const Shared<std::uint16_t>& pattern_of, std::int64_t rows,
                                         std::int64_t cols) {
    b_.for_each_thread([&](int t) {
      if (t == 0) match_all(pattern_of, rows, cols);
    });
    return matched_;
  }

 private:
  // The following functions run in one thread.
  STEN_DEVICE void match_all(const Shared<std::uint16_t>& pattern_of, std::int64_t rows,
                             std::int64_t cols) {
    std::uint32_t search = 0;
    for (std::int64_t p = 0; p < f_.count; ++p) fill_[p] = 0, visited_[p] = 0;
    // The kept rows of a strip are the first rows of its pattern.
    const auto kept = [&](std::int64_t s) {
      std::int64_t k = 0;
      if (s >= cols) return k;
      while (k < f_.n && row(pattern_of[s], k) < rows) ++k;
      return k;
    };
    for (std::int64_t s = 0; s < f_.strips(); ++s) {
      matched_[s] = none;
      if (kept(s) == f_.n) put(s, pattern_of[s]);
    }
    for (std::int64_t s = 0; s < f_.strips(); ++s)
      if (const std::int64_t k = kept(s); k > 0 && k < f_.n) augment(s, ++search, pattern_of, kept);
    std::int32_t p = 0;
    for (std::int64_t s = 0; s < f_.strips(); ++s) {
      if (kept(s) > 0) continue;
      while (fill_[p] == f_.g) ++p;
      put(s, p);
    }
  }
  STEN_DEVICE std::uint16_t row(std::int64_t p, std::int64_t i) const {
    return f_.patterns[p * f_.n + i];
  }
  STEN_DEVICE void put(std::int64_t s, std::int32_t p) {
    members_[p * f_.g + fill_[p]] = static_cast<std::uint16_t>(s);
    fill_[p] = fill_[p] + 1;
    matched_[s] = p;
  }

  template <class Kept>
  STEN_DEVICE void augment(std::int64_t strip, std::uint32_t search,
                           const Shared<std::uint16_t>& pattern_of, Kept&& kept) {
    std::int32_t end = none, queued = 0;
    const auto expand = [&](std::int64_t s) {
      each_superset(pattern_of[s], kept(s), [&](std::int32_t p) {
        if (visited_[p] == search) return false;
        visited_[p] = search;
        via_[p] = static_cast<std::int32_t>(s);
        if (fill_[p] < f_.g) {
          end = p;
          return true;
        }
        queue_[queued++] = p;
        return false;
      });
    };
    expand(strip);
    for (std::int32_t head = 0; end < 0 && head < queued; ++head)
      for (std::int64_t j = 0; end < 0 && j < f_.g; ++j) {
        const std::int64_t s = members_[queue_[head] * f_.g + j];
        if (kept(s) < f_.n) expand(s);
      }
    if (end < 0) return;  // unreachable: the fit is a valid assignment
    std::int32_t p = end, slot = fill_[end];
    fill_[end] = slot + 1;
    for (;;) {
      const std::int32_t s = via_[p], from = matched_[s];
      members_[p * f_.g + slot] = static_cast<std::uint16_t>(s);
      matched_[s] = p;
      if (from < 0) return;
      slot = 0;
      while (members_[from * f_.g + slot] != s) ++slot;
      p = from;
    }
  }

  // Calls f(pattern) for the patterns that contain the first k rows of pattern `own`, until f
  // returns true.
  template <class F>
  STEN_DEVICE void each_superset(std::int64_t own, std::int64_t k, F&& f) {
    const std::int64_t more = f_.n - k;
    std::int32_t free = 0;
    for (std::int64_t r = 0, i = 0; r < f_.m; ++r)
      if (i < k && row(own, i) == r)
        ++i;
      else
        free_[free++] = static_cast<std::uint16_t>(r);
    for (std::int64_t i = 0; i < more; ++i) chosen_[i] = static_cast<std::int32_t>(i);
    for (;;) {
      for (std::int64_t i = 0, j = 0, at = 0; at < f_.n; ++at) {
        const bool is_own = j == more || (i < k && row(own, i) < free_[chosen_[j]]);
        merged_[at] = is_own ? row(own, i++) : std::uint16_t{free_[chosen_[j++]]};
      }
      if (f(nmg_rank(merged_, f_.n, f_.m, f_.count))) return;
      std::int64_t i = more - 1;  // advance to the next combination of the free rows
      while (i >= 0 && chosen_[i] == free - more + i) --i;
      if (i < 0) return;
      for (chosen_[i] = chosen_[i] + 1; ++i < more;) chosen_[i] = chosen_[i - 1] + 1;
    }
  }

  Block& b_;
  const NmgFormat& f_;
  Shared<std::int32_t> matched_, fill_, via_, queue_, chosen_;
  Shared<std::uint16_t> members_, free_, merged_;
  Shared<std::uint32_t> visited_;
};

}  // namespace sten::kernels
