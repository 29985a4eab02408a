// Products of row blocks of n:m:g with a dense slab.
//
// A slab is some neighbouring rows of B, packed side by side so that they stay in the first cache.
// A row block is m rows of A. What it has in a slab comes in one of two orders:
//   - sorted by pattern: the strips of one pattern are a run, whose n rows of C stay in registers
//     while the run lasts;
//   - interleaved: a strip of every pattern, then another of every pattern, and so on, so that all
//     rows of C stay in registers, and the rows of each strip are known when compiling. Rows that
//     are too many are cut into groups, which is possible for n = 1, where a pattern is a row: the
//     strips of one group come after those of the other.
//
// With n = 1 two row blocks can be a pair: a row of B that both multiply is loaded once. A column is
// with row i of the one block and row j of the other. As many columns of each such (i, j) as all of
// them have are `shared`; what is left of steps / m is two strips, one of each block. In order, for
// each i:
//   - `shared` times for each j: a column; its value in row i, and that in row j;
//   - steps / m - shared times for each j: a column and its value in row i, another and its value in
//     row j;
//   - steps % m times: a column and its value in row i;
// and then for each j, steps % m times: a column and its value in row j. The last of an odd number
// of row blocks is interleaved.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

struct NmgRows {
  const std::uint16_t* patterns;  // [count, n], ascending rows of a block, in lexicographic order
  std::int64_t n, m, count;
  std::int64_t groups;  // of interleaved patterns

  // The first pattern of a group.
  std::int64_t first_of(std::int64_t group) const { return group * count / groups; }
};

// What row blocks, one after the other, have in a slab.
struct NmgSlabStrips {
  std::int64_t steps;            // interleaved: strips of each pattern; sorted: -1
  const std::uint16_t* counts;   // sorted: [blocks, count], strips of each pattern
  const std::uint16_t* offsets;  // [strips]: bytes to the strip's row of the slab
  const float* values;           // [strips, n]
  // Interleaved, with row blocks in pairs, of which the first is one: [blocks / 2]; else nullptr.
  // Offsets of a pair begin where they would without, and may be fewer.
  const std::uint16_t* shared = nullptr;
};
// Beyond the last strip so many offsets and values are read, and not used.
inline constexpr std::int64_t nmg_read_ahead = 4;

// Lines of the cache that the second cache is asked for, a few with each group of rows: all at once
// they would keep those waiting that are needed now.
struct NmgFetch {
  const float* row = nullptr;
  std::int64_t column = 0, columns = 0, stride = 0;  // of the rows to come, in floats
  std::int64_t lines = 0;                            // to come
  std::int64_t at_once = 0;

  static constexpr std::int64_t line = 16;
};

// C[blocks * m, width] = A * slab, or with `more` C += A * slab. slab [rows, width]; what offsets
// say is for a width of panel_width, and is scaled.
using NmgRun = void(const NmgRows& rows, NmgSlabStrips strips, std::int64_t blocks,
                    const float* slab, bool more, float* c, NmgFetch& fetch);

// Widths of panels, for few columns of B too: what is left of a vector is lost.
inline constexpr std::int64_t nmg_widths[] = {8, 16, 32, panel_width};

struct NmgGemmTable {
  NmgRun* run[4];  // of each width
  // Into how many groups it wants the patterns of n:m interleaved; 0: it wants them sorted.
  std::int64_t (*groups)(std::int64_t n, std::int64_t m);
  // Whether it takes row blocks in pairs where many columns can be shared.
  bool (*supports_block_pairs)(std::int64_t n, std::int64_t m);
};

// nullptr where has_isa() says no.
const NmgGemmTable* nmg_gemm_for(Isa isa);
// Of active_isa().
const NmgGemmTable& nmg_gemm();
// Its product for panels of one of nmg_widths.
NmgRun* nmg_run(std::int64_t width);

}  // namespace sten::kernels
