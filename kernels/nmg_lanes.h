// Products of n:m:g with few columns, which take as long as reading A does. The lanes of a vector
// are row blocks: what the lanes multiply with is looked up in registers that hold a chunk's part
// of a column, where the chunk is short enough.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

inline constexpr std::int64_t nmg_lanes = 16;
inline constexpr std::int64_t nmg_most_columns = 4;
// Rows of a block that are worked on at once, or as many as are left.
inline constexpr std::int64_t nmg_rows_at_once = 4;
// Beyond the last chunk so many floats of a column are read, and not used.
inline constexpr std::int64_t nmg_columns_ahead = 96;

// nmg_lanes row blocks. Row r of a block has `entries` values in each chunk.
struct NmgLanes {
  std::int64_t m, chunks, chunk, entries;  // chunk: its columns, up to 256
  // [m / nmg_rows_at_once][chunks][entries][nmg_rows_at_once][nmg_lanes]; what is left of m follows
  // with fewer rows. Columns are counted from the beginning of the chunk.
  const std::uint8_t* columns;
  const float* values;
};

// y[c][r][lane] = row r of a block times column c. x: [columns][ldx], with zeros up to the end of
// the last chunk.
using NmgLanesRun = void(const NmgLanes& a, const float* x, std::int64_t ldx, float* y);

struct NmgLanesTable {
  NmgLanesRun* run[nmg_most_columns];  // of 1 column, of 2, and so on
};

// nullptr where has_isa() says no.
const NmgLanesTable* nmg_lanes_for(Isa isa);
// Of active_isa().
const NmgLanesTable& nmg_lanes_table();

}  // namespace sten::kernels
