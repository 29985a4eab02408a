// Loops over the elements of a tensor whose results are the same at any thread count.
#pragma once
#include <vector>

#include "libsten/base/parallel.h"
#include "libsten/base/shape.h"
#include "libsten/tensor/mask.h"

namespace sten {

// piece(begin, end) for pieces that do not depend on the thread count, in the order of the pieces.
template <class T, class F>
std::vector<T> by_segment(Index n, F&& piece) {
  std::vector<T> results(ceil_div(n, mask_grain));
  parallel_for(n, mask_grain,
               [&](Index begin, Index end) { results[begin / mask_grain] = piece(begin, end); });
  return results;
}

}  // namespace sten
