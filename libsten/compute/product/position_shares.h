// SPDX-License-Identifier: Apache-2.0
// Distribution of the sums of a sampled product over threads.
#pragma once
#include <algorithm>
#include <limits>

#include "libsten/core/base/parallel.h"

namespace sten {

// Calls f(begin, end, slab0, slab1) on threads(): some units of A's rows and some slabs, for all
// tokens. Each sum belongs to one share, so that results do not depend on threads. Units and slabs
// are divided into as many shares as threads, such that each reads least.
template <class F>
void share_positions(Index rows, Index cols, Index units, Index slabs, F&& f) {
  const Index team = threads();
  if (units == 0 || slabs == 0) return;
  Index unit_parts = 1, slab_parts = 1;
  double least = std::numeric_limits<double>::infinity();
  for (Index i = 1; i <= std::min(units, team); ++i) {
    const Index j = std::min(slabs, ceil_div(team, i));
    // Too few shares leave threads idle: products cost more than reading.
    const double cost =
        static_cast<double>(rows) / static_cast<double>(i) +
        static_cast<double>(cols) / static_cast<double>(j) +
        static_cast<double>(rows + cols) * static_cast<double>(std::max<Index>(0, team - i * j));
    if (cost < least) {
      least = cost;
      unit_parts = i;
      slab_parts = j;
    }
  }
  parallel_for(unit_parts * slab_parts, 1, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const Index i = t / slab_parts, j = t % slab_parts;
      f(i * units / unit_parts, (i + 1) * units / unit_parts, j * slabs / slab_parts,
        (j + 1) * slabs / slab_parts);
    }
  });
}

}  // namespace sten
