// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a matrix.
#pragma once
#include <algorithm>
#include <vector>

#include "libsten/core/base/parallel.h"
#include "libsten/core/base/shape.h"

namespace sten {

// Two sums per column, [2][n], in at most 64 segments of at least `least` rows, so that they do not
// depend on threads(). f(first row, rows, sums, other sums) adds a segment.
template <class F>
std::vector<double> sum_rows(Index rows, Index n, Index least, F f) {
  constexpr Index most = 64;
  const Index piece = std::max(least, ceil_div(rows, most)), pieces = ceil_div(rows, piece);
  std::vector<double> sums(static_cast<std::size_t>(std::max<Index>(1, pieces) * 2 * n));
  parallel_for(pieces, 1, [&](Index begin, Index end) {
    for (Index p = begin; p < end; ++p) {
      double* to = sums.data() + p * 2 * n;
      f(p * piece, std::min(piece, rows - p * piece), to, to + n);
    }
  });
  for (Index p = 1; p < pieces; ++p)
    for (Index c = 0; c < 2 * n; ++c) sums[c] += sums[p * 2 * n + c];
  return sums;
}

}  // namespace sten
