// SPDX-License-Identifier: Apache-2.0
// A parallel loop over the blocks of a symmetric matrix.
#pragma once
#include <utility>
#include <vector>

#include "libsten/core/base/parallel.h"

namespace sten {

// Calls f(i, j) for begin <= i <= j < end, in parallel, as parallel_for().
template <class F>
void parallel_for_pairs(Index begin, Index end, const F& f) {
  std::vector<std::pair<Index, Index>> pairs;
  for (Index i = begin; i < end; ++i)
    for (Index j = i; j < end; ++j) pairs.emplace_back(i, j);
  parallel_for(static_cast<Index>(pairs.size()), 1, [&](Index first, Index last) {
    for (Index p = first; p < last; ++p) f(pairs[p].first, pairs[p].second);
  });
}

}  // namespace sten
