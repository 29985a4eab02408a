// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nmg_matching.h"

#include <algorithm>

#include "libsten/core/base/error.h"

namespace sten {

std::string text_of(const NmgUnit& unit, Index axis) {
  return fmt::format("{} {} to {}, {} {} to {}", axis == 0 ? "rows" : "columns", unit.row0,
                     unit.row0 + unit.rows - 1, axis == 0 ? "columns" : "rows", unit.col0,
                     unit.col0 + unit.cols - 1);
}

void refuse_strip(std::string_view nmg, const NmgUnit& unit, Index axis, Index n, Index strip) {
  fail("{} cannot hold {} {}: more than {} positions are kept in {}", nmg,
       axis == 0 ? "column" : "row", unit.col0 + strip, n, text_of(unit, axis));
}

void refuse_chunk(std::string_view nmg, const NmgUnit& unit, Index axis, Index g) {
  fail("{} cannot hold {}: no assignment uses every pattern exactly {} times", nmg,
       text_of(unit, axis), g);
}

ChunkMatcher::ChunkMatcher(const PatternTable& table, Index g)
    : table_(table),
      n_(table.n()),
      g_(g),
      members_(table.count() * g),
      fill_(table.count()),
      pattern_of_(table.count() * g),
      via_(table.count()),
      visited_(table.count()) {}

bool ChunkMatcher::match(const ChunkPositions& kept) {
  kept_ = &kept;
  std::fill(fill_.begin(), fill_.end(), 0);
  std::fill(pattern_of_.begin(), pattern_of_.end(), -1);
  const Index strips = table_.count() * g_;
  for (Index s = 0; s < strips; ++s) {
    if (count_of(s) != n_) continue;
    const Index p = table_.find(kept[s].data());
    if (fill_[p] == g_) return false;
    members_[p * g_ + fill_[p]++] = static_cast<std::int32_t>(s);
    pattern_of_[s] = static_cast<std::int32_t>(p);
  }
  for (Index s = 0; s < strips; ++s)
    if (count_of(s) > 0 && count_of(s) < n_ && !augment(s)) return false;
  Index p = 0;
  for (Index s = 0; s < strips; ++s) {
    if (count_of(s)) continue;
    while (fill_[p] == g_) ++p;
    members_[p * g_ + fill_[p]++] = static_cast<std::int32_t>(s);
  }
  for (Index q = 0; q < table_.count(); ++q)
    std::sort(members_.begin() + q * g_, members_.begin() + (q + 1) * g_);
  return true;
}

// Breadth-first search from the strip over patterns that contain its positions. A full pattern
// leads to the patterns of its strips; a pattern with a free slot ends the path.
bool ChunkMatcher::augment(Index strip) {
  ++search_;
  queue_.clear();
  Index end = -1;
  const auto expand = [&](Index s) {
    for_each_superset(s, [&](Index p) {
      if (visited_[p] == search_) return false;
      visited_[p] = search_;
      via_[p] = static_cast<std::int32_t>(s);
      if (fill_[p] < g_) {
        end = p;
        return true;
      }
      queue_.push_back(static_cast<std::int32_t>(p));
      return false;
    });
  };
  expand(strip);
  for (std::size_t head = 0; end < 0 && head < queue_.size(); ++head)
    for (Index j = 0; end < 0 && j < g_; ++j) {
      const Index s = members_[queue_[head] * g_ + j];
      if (count_of(s) < n_) expand(s);
    }
  if (end < 0) return false;

  // Walks the path backwards: each strip moves to the next pattern and frees its slot.
  Index p = end, slot = fill_[end]++;
  for (;;) {
    const Index s = via_[p], from = pattern_of_[s];
    members_[p * g_ + slot] = static_cast<std::int32_t>(s);
    pattern_of_[s] = static_cast<std::int32_t>(p);
    if (from < 0) return true;
    const auto group = members_.begin() + from * g_;
    // Never the slot just written: p was not visited from a strip of p itself, so from != p.
    slot = std::find(group, group + g_, static_cast<std::int32_t>(s)) - group;
    p = from;
  }
}

// Calls f(pattern) for the patterns that contain the strip's positions, until f returns true.
template <class F>
void ChunkMatcher::for_each_superset(Index strip, F&& f) {
  const std::span<const std::uint16_t> own = (*kept_)[strip];
  const Index k = count_of(strip), more = n_ - k;
  free_.clear();
  for (Index r = 0, i = 0; r < table_.m(); ++r) {
    if (i < k && own[i] == r)
      ++i;
    else
      free_.push_back(static_cast<std::uint16_t>(r));
  }
  const auto free_count = static_cast<Index>(free_.size());
  chosen_.resize(more);
  for (Index i = 0; i < more; ++i) chosen_[i] = i;
  merged_.resize(n_);
  for (;;) {
    for (Index i = 0, j = 0, at = 0; at < n_; ++at)
      merged_[at] =
          j == more || (i < k && own[i] < free_[chosen_[j]]) ? own[i++] : free_[chosen_[j++]];
    if (f(table_.find(merged_.data()))) return;
    Index i = more - 1;  // the next combination of free positions
    while (i >= 0 && chosen_[i] == free_count - more + i) --i;
    if (i < 0) return;
    for (++chosen_[i]; ++i < more;) chosen_[i] = chosen_[i - 1] + 1;
  }
}

}  // namespace sten
