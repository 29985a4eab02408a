// block-magnitude: keeps whole blocks of a matrix by the sum of their magnitudes.
#pragma once
#include "libsten/core/sparsify/sparsifier.h"

namespace sten {

// Blocks have h x w elements and may be smaller at the right and lower edges. Prunes exactly
// llround(sparsity * blocks) blocks, smallest sum of |x| first; among equal sums, later blocks in
// row-major order first. Sums are in double, in row-major order; a block with a non-finite value
// ranks above all others. A tensor of rank 0 or 1 is one row.
struct BlockMagnitude {
  static constexpr const char* name = "block-magnitude";
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
