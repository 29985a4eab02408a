// SPDX-License-Identifier: Apache-2.0
// Loops over the elements of a tensor, deterministic for every number of threads.
#pragma once
#include <vector>

#include "libsten/core/base/parallel.h"
#include "libsten/core/base/shape.h"
#include "libsten/core/tensor/mask.h"

namespace sten {

// Returns piece(begin, end) of each segment in order. Segments do not depend on the number of
// threads.
template <class T, class F>
std::vector<T> by_segment(Index n, F&& piece) {
  std::vector<T> results(ceil_div(n, mask_grain));
  parallel_for(n, mask_grain,
               [&](Index begin, Index end) { results[begin / mask_grain] = piece(begin, end); });
  return results;
}

}  // namespace sten
