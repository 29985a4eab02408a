// Whole blocks of a matrix, by the sum of their magnitudes.
#pragma once
#include "libsten/sparsify/sparsifier.h"

namespace sten {

// Blocks of h rows and w columns; those at the right and lower edge may be smaller, and count as
// blocks. Masks exactly llround(sparsity * blocks) of them, smallest sum of |x| first; among equals
// the later goes first, row of blocks by row of blocks. Sums are in double, in row-major order; a
// block with a value that is not finite ranks above all numbers. A tensor of rank 0 or 1 is a
// single row.
struct BlockMagnitude {
  static constexpr const char* name = "block-magnitude";
  static constexpr const char* own_keys[] = {"sparsity"};
  double sparsity = 0.5;
  Index h = 4, w = 4;
  Dims dims;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  // The sums, F64 [batches * ceil(rows / h) * ceil(columns / w)].
  Dense sums(const Dense& x) const;
  // The mask of x's shape that keeps what is in the blocks of `blocks`, which is of sums()' shape.
  Mask expand(const Shape& shape, const Mask& blocks) const;
  static BlockMagnitude make(const Spec& spec);
};

}  // namespace sten
