// Matrices of bfloat16 as products on tiles read them.
#pragma once
#include <vector>

#include "kernels/tiles.h"
#include "libsten/base/array.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// Made once per weight, kept in memory with it and never written to a file. Rows are padded to 16 and
// cut into groups of one or two tiles, which have all columns, or columns of their own that they
// share, counted in pairs; columns are cut into slabs.
struct Bf16Packed {
  Index rows = 0, cols = 0;
  std::vector<Index> slabs;              // [slabs + 1]: where each begins, and the end
  std::vector<Index> group_rows;         // [groups + 1]: the same of rows, padded
  std::vector<kernels::TileRows> parts;  // [slabs, groups]
  Array<std::uint16_t> values;           // of one part after the other
  Array<std::uint32_t> columns;          // the same; empty where groups have all columns

  bool has_columns() const { return columns.size() > 0; }
  Index slab_count() const { return std::ssize(slabs) - 1; }
  Index group_count() const { return std::ssize(group_rows) - 1; }
  Index tiles_of(Index group) const {
    return (group_rows[group + 1] - group_rows[group]) / kernels::tile_rows;
  }
  Index slab_features(Index s) const { return slabs[s + 1] - slabs[s]; }
};

// A matrix of BF16, or of F32, which is rounded; another dtype is an Error (usage). Where 16 or 32
// neighbouring rows share their columns, as those of nmgv do where v is a multiple of 16 and w even,
// what is pruned is left out; of all other layouts the zeros are packed too, as long as that is
// faster.
Bf16Packed pack_bf16(const Tensor& a);

// Of a dense matrix the pairs of columns, ascending, of groups of rows: [groups + 1] multiples of 16,
// whose neighbours are 16 or 32 apart.
Bf16Packed pack_bf16_groups(const Dense& a, std::vector<Index> group_rows,
                            const std::vector<std::vector<std::uint32_t>>& interleaved);
// All columns.
Bf16Packed pack_bf16_dense(const Dense& a);

}  // namespace sten
