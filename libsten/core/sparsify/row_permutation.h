// SPDX-License-Identifier: Apache-2.0
// Row permutation: an order of a matrix's rows in which n:m:g of tiles keeps more magnitude.
#pragma once
#include <vector>

#include "libsten/core/sparsify/nmgv_fit.h"

namespace sten {

struct RowPermutation {
  std::vector<Index> rows;  // rows[i]: the old index of row i
  // The energy of the fit on all rows, in the old and in this order.
  double before = 0, after = 0;
  bool moves() const;
};

// Groups rows that are large at the same columns into tiles of v rows. x: a finite matrix [R, K];
// the fit must have no dims. Algorithm:
//  1. A greedy clustering starts each group with the row of the largest spread, then adds the row
//     with the largest gain at the n best of every m columns of tiles.
//  2. Rounds: the fit selects the columns of each group, and balanced_groups() moves rows to the
//     groups that keep most of them, until the energy no longer grows.
// Returns the old order if no order keeps more. Deterministic for every number of threads. Memory:
// up to 6 floats per row and column of tiles. Related: column permutations for 2:4, Pool and Yu,
// "Channel Permutations for N:M Sparsity" (2021).
RowPermutation row_permutation(const Dense& x, const NmgvFit& fit);

}  // namespace sten
