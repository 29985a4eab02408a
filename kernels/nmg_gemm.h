// SPDX-License-Identifier: Apache-2.0
// Products of row blocks of n:m:g with a dense slab: C = A * slab.
//
// A slab is a range of neighbouring rows of B, packed so that it stays in L1. A row block is m rows
// of A. The strips of a row block in a slab have one of two orders:
//   - sorted by pattern: the strips of a pattern are a run, and the n rows of C of this pattern
//     stay in registers during the run;
//   - interleaved: one strip of every pattern, then another of every pattern, and so on. All rows
//     of C stay in registers, and the rows of each strip are known at compile time. For n = 1,
//     where a pattern is a row, too many rows for the registers are divided into groups: the strips
//     of one group, then those of the next.
//
// With n = 1, two row blocks can be a block pair: a row of B that both blocks multiply is loaded
// once. Each pair (i, j) of rows of the two blocks has the same number of shared columns, `shared`;
// the remaining steps / m - shared entries are separate strips of either block. The order is, for
// each i:
//   - `shared` times for each j: a column, its value in row i, its value in row j;
//   - steps / m - shared times for each j: a column and its value in row i, another column and its
//     value in row j;
//   - steps % m times: a column and its value in row i;
// then for each j, steps % m times: a column and its value in row j. If the number of row blocks is
// odd, the last one is interleaved.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

struct NmgRows {
  const std::uint16_t* patterns;  // [count, n], ascending rows of a block, in lexicographic order
  std::int64_t n, m, count;
  std::int64_t groups;  // of interleaved patterns

  std::int64_t first_of(std::int64_t group) const { return group * count / groups; }
};

// The strips of consecutive row blocks in a slab.
struct NmgSlabStrips {
  std::int64_t steps;            // interleaved: strips per pattern; sorted: -1
  const std::uint16_t* counts;   // sorted: [blocks, count], strips per pattern
  const std::uint16_t* offsets;  // [strips]: bytes to the strip's row of the slab
  const float* values;           // [strips, n]
  // [blocks / 2]: shared columns of each block pair; nullptr without block pairs. The offsets of a
  // pair start where they would without pairing; some of their room can be unused.
  const std::uint16_t* shared = nullptr;
};
// Offsets and values after the last strip that must be readable. They are not used.
inline constexpr std::int64_t nmg_read_ahead = 4;

// Cache lines to prefetch into L2. Each group of rows issues a few: all at once would delay the
// loads that are needed now.
struct NmgFetch {
  const float* row = nullptr;
  std::int64_t column = 0, columns = 0, stride = 0;  // of the next rows, in floats
  std::int64_t lines = 0;                            // remaining
  std::int64_t at_once = 0;

  static constexpr std::int64_t line = 16;
};

// C = A * slab, or C += A * slab with `more`. slab [rows, width], C [blocks * m, width]. Offsets
// are stored for panel_width and scaled for other widths.
using NmgRun = void(const NmgRows& rows, NmgSlabStrips strips, std::int64_t blocks,
                    const float* slab, bool more, float* c, NmgFetch& fetch);

// Widths of panels. The smaller ones serve small batches and waste less of a vector.
inline constexpr std::int64_t nmg_widths[] = {8, 16, 32, panel_width};

struct NmgGemmTable {
  NmgRun* run[4];  // for each of nmg_widths
  // Number of groups into which patterns of n:m have to be interleaved; 0: sorted by pattern.
  std::int64_t (*groups)(std::int64_t n, std::int64_t m);
  // Whether row blocks can be block pairs.
  bool (*supports_block_pairs)(std::int64_t n, std::int64_t m);
};

// nullptr unless has_isa(isa).
const NmgGemmTable* nmg_gemm_for(Isa isa);
// The table for active_isa().
const NmgGemmTable& nmg_gemm();
// The product of the table for active_isa() for one of nmg_widths.
NmgRun* nmg_run(std::int64_t width);

}  // namespace sten::kernels
