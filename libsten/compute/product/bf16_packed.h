// SPDX-License-Identifier: Apache-2.0
// bfloat16 matrices, packed for products by tiles.
#pragma once
#include <vector>

#include "kernels/tiles.h"
#include "libsten/core/base/array.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// A packed weight, cached with the tensor and never written to a file. Rows are padded to 16 and
// divided into groups of one or two tiles; a group has all columns, or a list of shared columns,
// counted in pairs. Columns are divided into slabs.
struct Bf16Packed {
  Index rows = 0, cols = 0;
  std::vector<Index> slabs;       // [slabs + 1]: start of each slab, and the end
  std::vector<Index> group_rows;  // [groups + 1]: start of each group in padded rows, and the end
  std::vector<kernels::TileRows> parts;  // [slabs, groups]
  Array<std::uint16_t> values;           // of the parts, in order
  Array<std::uint32_t> columns;          // of the parts, in order; empty if groups have all columns

  bool has_columns() const { return columns.size() > 0; }
  Index slab_count() const { return std::ssize(slabs) - 1; }
  Index group_count() const { return std::ssize(group_rows) - 1; }
  Index tiles_of(Index group) const {
    return (group_rows[group + 1] - group_rows[group]) / kernels::tile_rows;
  }
  Index slab_features(Index s) const { return slabs[s + 1] - slabs[s]; }
};

// Packs a matrix of BF16 or F32, which is rounded. Error (usage) for other dtypes. Packs all
// columns, or for groups of 16 or 32 rows only pairs of columns with a stored element, whichever is
// estimated to be faster. The latter pays if neighbouring rows share columns, as in nmgv with v a
// multiple of 16 and even w.
Bf16Packed pack_bf16(const Tensor& a);

// Packs the given pairs of columns, ascending, of each group of a dense matrix. group_rows: [groups
// + 1], multiples of 16 at distances of 16 or 32.
Bf16Packed pack_bf16_groups(const Dense& a, std::vector<Index> group_rows,
                            const std::vector<std::vector<std::uint32_t>>& interleaved);
// Packs all columns.
Bf16Packed pack_bf16_dense(const Dense& a);

}  // namespace sten
