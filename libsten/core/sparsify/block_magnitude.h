// SPDX-License-Identifier: Apache-2.0
// block-magnitude: keeps whole blocks of a matrix by the sum of their magnitudes.
#pragma once
#include "libsten/core/sparsify/sparsifier.h"

namespace sten {

// Sums of magnitudes are in double, in row-major order; a block with a non-finite value ranks above
// all others. Of blocks with equal sums, the later in row-major order is pruned first. A tensor of
// rank 0 or 1 is one row.
struct BlockMagnitude {
  static constexpr const char* name = "block-magnitude";
  static constexpr SpecDoc doc{
      "block-magnitude:sparsity=0.9,h=4,w=4",
      "whole blocks of h rows and w columns: all but the `llround(sparsity * blocks)` with the "
      "smallest sums of magnitudes; of equals, the later is pruned first; a smaller block at an "
      "edge counts as a block"};
  static constexpr const char* own_keys[] = {"sparsity"};
  double sparsity = 0.5;
  Index h = 4, w = 4;
  Dims dims;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  // The sums of the blocks, F64 [batches * ceil(rows / h) * ceil(columns / w)].
  Dense sums(const Dense& x) const;
  // The mask of x's shape that keeps all elements of the blocks in `blocks`, which has the shape of
  // sums().
  Mask expand(const Shape& shape, const Mask& blocks) const;
  static BlockMagnitude make(const Spec& spec);
};

}  // namespace sten
