// Exact placement of one n:m:g chunk: which strip may use which pattern.
#pragma once
#include <cstdint>
#include <vector>

#include "libsten/layout/nmg_patterns.h"

namespace sten {

// Every pattern takes exactly g strips, and a strip's pattern contains its kept positions. Strips
// with n kept positions have no choice, those with none any; the others are placed by augmenting
// paths (bipartite b-matching), so a placement is found if and only if there is one. Deterministic.
class ChunkPlacer {
 public:
  ChunkPlacer(const PatternTable& table, Index g);

  // kept[s]: how many positions strip s keeps; positions[s * n ...]: which, ascending. For all
  // count * g strips of the chunk. False if there is no placement.
  bool place(const std::vector<std::uint16_t>& positions, const std::vector<std::uint16_t>& kept);
  // The strips of pattern p, ascending: its group, [g].
  std::span<const std::int32_t> group(Index p) const {
    return {members_.data() + p * g_, static_cast<std::size_t>(g_)};
  }

 private:
  bool augment(Index strip);
  template <class F>
  void for_each_superset(Index strip, F&& f);

  const PatternTable& table_;
  const Index n_, g_;
  const std::uint16_t* positions_ = nullptr;
  const std::uint16_t* kept_ = nullptr;
  std::vector<std::int32_t> members_;     // [count, g]
  std::vector<std::int32_t> fill_;        // [count], strips placed in each pattern
  std::vector<std::int32_t> pattern_of_;  // [count * g], -1 not placed yet
  std::vector<std::int32_t> via_;         // [count], the strip that a path moves into the pattern
  std::vector<std::uint32_t> visited_;    // [count], the search that reached the pattern
  std::vector<std::int32_t> queue_;
  std::uint32_t search_ = 0;
  std::vector<std::uint16_t> free_, merged_;
  std::vector<Index> chosen_;
};

}  // namespace sten
