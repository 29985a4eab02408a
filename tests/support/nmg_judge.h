// SPDX-License-Identifier: Apache-2.0
// Checks, without the library, that an n:m:g fit is valid and optimal.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten::testing {

// Whether strips can exchange patterns in a cycle with a gain; an assignment without such a cycle
// is optimal. of[s] is the pattern of strip s, score(s, p) its score under pattern p of `count`.
// Bellman-Ford in double; a gain <= `noise` counts as none.
template <class Of, class Score>
bool ring_gains(const Of& of, Index count, double noise, Score&& score) {
  // The least that a strip of p loses by moving to q.
  std::vector<double> loss(count * count, INFINITY), distance(count);
  for (Index s = 0; s < std::ssize(of); ++s) {
    const double own = score(s, of[s]);
    for (Index q = 0; q < count; ++q) {
      double& least = loss[of[s] * count + q];
      least = std::min(least, own - score(s, q));
    }
  }
  // From all patterns at once: distances stop decreasing unless there is such a cycle.
  for (Index round = 0; round <= count; ++round) {
    bool fell = false;
    for (Index p = 0; p < count; ++p)
      for (Index q = 0; q < count; ++q)
        if (distance[p] + loss[p * count + q] < distance[q] - noise) {
          distance[q] = distance[p] + loss[p * count + q];
          fell = true;
        }
    if (!fell) return false;
  }
  return true;
}

// The patterns of n:m in their order (docs/formats.md).
inline std::vector<std::vector<Index>> patterns_of(Index n, Index m, bool backwards = false) {
  if (n == 0) return {{}};
  if (n == m) {
    std::vector<Index> all(m);
    std::iota(all.begin(), all.end(), Index{0});
    return {all};
  }
  std::vector<std::vector<Index>> out = patterns_of(n, m - 1, true);
  if (backwards) std::reverse(out.begin(), out.end());
  for (std::vector<Index> p : patterns_of(n - 1, m - 1, !backwards)) {
    p.push_back(m - 1);
    out.push_back(p);
  }
  return out;
}

// A value of a chunk, and whether it is kept.
struct Judged {
  double magnitude;
  bool stays;
};

// A chunk, strip by strip; strips and rows outside of the tensor are left out and can have any
// pattern. The result is "" if each pattern occurs g times and no other fit keeps more.
class NmgJudge {
 public:
  NmgJudge(Index n, Index m, Index group) : patterns_(patterns_of(n, m)), g_(group) {}
  Index strips() const { return std::ssize(patterns_) * g_; }

  std::string fault(std::vector<std::vector<Judged>> chunk) {
    chunk_ = std::move(chunk);
    chunk_.resize(strips());
    of_.assign(strips(), -1);
    for (Index s = 0; s < strips(); ++s) {
      std::vector<bool> seen(patterns_.size());
      if (!place(s, seen)) return "not g of each pattern";
    }
    double greatest = 0, least = INFINITY;
    for (const auto& strip : chunk_)
      for (const Judged& v : strip)
        if (v.magnitude != 0) {
          greatest = std::max(greatest, v.magnitude);
          least = std::min(least, v.magnitude);
        }
    // The fit rounds magnitudes to 2^-27 of the greatest score or finer, and uses 59 bits for a
    // wide range of values.
    const double noise = greatest * (greatest / least > 0x1p25 ? 0x1p-45 : 0x1p-22);
    const auto score_of = [&](Index s, Index p) { return score(s, p); };
    return ring_gains(of_, std::ssize(patterns_), noise, score_of) ? "another fit keeps more" : "";
  }

 private:
  double score(Index s, Index p) const {
    double sum = 0;
    for (const Index r : patterns_[p])
      if (r < std::ssize(chunk_[s])) sum += chunk_[s][r].magnitude;
    return sum;
  }
  bool may_have(Index s, Index p) const {
    for (Index r = 0; r < std::ssize(chunk_[s]); ++r)
      if (chunk_[s][r].stays != std::ranges::binary_search(patterns_[p], r)) return false;
    return true;
  }
  // Assigns a valid pattern to strip s; other strips move if necessary (an augmenting path).
  bool place(Index s, std::vector<bool>& seen) {
    for (Index p = 0; p < std::ssize(patterns_); ++p) {
      if (seen[p] || !may_have(s, p)) continue;
      seen[p] = true;
      bool has_room = std::ranges::count(of_, p) < g_;
      for (Index other = 0; !has_room && other < strips(); ++other)
        has_room = of_[other] == p && place(other, seen);
      if (!has_room) continue;
      of_[s] = p;
      return true;
    }
    return false;
  }

  std::vector<std::vector<Index>> patterns_;
  Index g_;
  std::vector<std::vector<Judged>> chunk_;  // rows of each strip
  std::vector<Index> of_;                   // pattern of each strip
};

}  // namespace sten::testing
