// An order of a matrix' rows in which tiles keep more of it.
#pragma once
#include <vector>

#include "libsten/sparsify/nmgv_fit.h"

namespace sten {

struct RowPermutation {
  std::vector<Index> rows;  // rows[i] comes i-th
  // What the fit keeps of the magnitudes of all rows, as a share: in the order they had, and in this
  // one.
  double before = 0, after = 0;
  bool moves() const;
};

// Rows with much at the same columns go into the same v rows, which share what they keep. x is a
// finite matrix [R, K], and the fit has no dims of its own. A greedy clustering begins it: each group
// of v rows with the row of the largest spread, and then whichever row adds most at the n best of
// every m columns of tiles. Then, in turns, the fit says what groups keep, and rows go where most of
// them is kept (balanced_groups()), as long as that gains anything. The order stays as it was where
// none was found that keeps more. Bits do not depend on the number of threads. Memory: up to 6 floats
// for each row and column of tiles. Related: orders of columns for 2:4 of Pool and Yu, "Channel
// Permutations for N:M Sparsity" (2021).
RowPermutation row_permutation(const Dense& x, const NmgvFit& fit);

}  // namespace sten
