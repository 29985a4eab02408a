// SPDX-License-Identifier: Apache-2.0
// Matching: the exact assignment of the strips of an n:m:g chunk to patterns.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "libsten/core/layout/nmg_geometry.h"
#include "libsten/core/layout/nmg_patterns.h"

namespace sten {

// The positions that each strip of a chunk keeps.
class ChunkPositions {
 public:
  explicit ChunkPositions(const NmgGeometry& geo)
      : n_(geo.n), positions_(geo.strips * geo.n), kept_(geo.strips) {}

  void clear() { std::fill(kept_.begin(), kept_.end(), std::uint16_t{0}); }
  // Call in ascending order of positions. False if the strip keeps n already.
  bool keep(Index strip, Index position) {
    if (kept_[strip] == n_) return false;
    positions_[strip * n_ + kept_[strip]++] = static_cast<std::uint16_t>(position);
    return true;
  }
  std::span<const std::uint16_t> operator[](Index strip) const {
    return {positions_.data() + strip * n_, kept_[strip]};
  }

 private:
  Index n_;
  std::vector<std::uint16_t> positions_, kept_;  // [strips, n], [strips]
};

// Assigns exactly g strips to every pattern, such that the pattern of a strip contains its kept
// positions. Finds an assignment if and only if one exists, by augmenting paths (bipartite
// b-matching). Strips with n positions have one pattern, strips without positions fill the
// remaining slots. Deterministic.
class ChunkMatcher {
 public:
  ChunkMatcher(const PatternTable& table, Index g);

  // False if no assignment exists.
  bool match(const ChunkPositions& kept);
  // The group [g] of pattern p: its strips, ascending.
  std::span<const std::int32_t> group(Index p) const {
    return {members_.data() + p * g_, static_cast<std::size_t>(g_)};
  }

 private:
  Index count_of(Index strip) const { return static_cast<Index>((*kept_)[strip].size()); }
  bool augment(Index strip);
  template <class F>
  void for_each_superset(Index strip, F&& f);

  const PatternTable& table_;
  const Index n_, g_;
  const ChunkPositions* kept_ = nullptr;
  std::vector<std::int32_t> members_;     // [count, g]
  std::vector<std::int32_t> fill_;        // [count], strips placed in each pattern
  std::vector<std::int32_t> pattern_of_;  // [count * g], -1 not placed yet
  std::vector<std::int32_t> via_;         // [count], the strip that the path moves into the pattern
  std::vector<std::uint32_t> visited_;    // [count], the search that visited the pattern last
  std::vector<std::int32_t> queue_;
  std::uint32_t search_ = 0;
  std::vector<std::uint16_t> free_, merged_;
  std::vector<Index> chosen_;
};

// Errors of a layout called `nmg`: a strip of the unit keeps more than n positions, or the strips
// of a chunk have no matching.
[[noreturn]] void refuse_strip(std::string_view nmg, const NmgUnit& unit, Index axis, Index n,
                               Index strip);
[[noreturn]] void refuse_chunk(std::string_view nmg, const NmgUnit& unit, Index axis, Index g);
// Returns "rows 0 to 3, columns 0 to 7".
std::string text_of(const NmgUnit& unit, Index axis);

// Writes a matched chunk of the whole tensor x, with zeros at positions that the pattern has but
// the strip does not keep. values: [C, g, n], index: [C, g].
template <class U, class I>
void write_matched(const NmgGeometry& geo, const NmgUnit& unit, const PatternTable& table,
                   const ChunkPositions& kept, const ChunkMatcher& matcher, const U* x, U* values,
                   I* index) {
  for (Index p = 0; p < geo.patterns; ++p)
    for (const std::int32_t s : matcher.group(p)) {
      *index++ = static_cast<I>(s);
      auto next = kept[s].begin();
      for (const std::uint16_t r : table[p]) {
        const bool is_kept = next != kept[s].end() && *next == r;
        next += is_kept;
        *values++ =
            is_kept ? x[unit.offset + r * geo.view.row_stride + s * geo.view.col_stride] : U{0};
      }
    }
}

}  // namespace sten
