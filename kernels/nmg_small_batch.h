// SPDX-License-Identifier: Apache-2.0
// Products of n:m:g with a small batch, as in decoding. Their time is that of reading A. The lanes
// of a vector are row blocks. The elements of x for the lanes are looked up in registers that hold
// a chunk's part of a column of x, if the chunk is short enough.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

inline constexpr std::int64_t nmg_lanes = 16;
inline constexpr std::int64_t nmg_most_columns = 4;
// Maximum number of rows of a block per pass.
inline constexpr std::int64_t nmg_rows_at_once = 4;
// Floats of a column of x after the last chunk that must be readable. They are not used.
inline constexpr std::int64_t nmg_columns_ahead = 96;

// nmg_lanes row blocks. Each row of a block has `entries` values per chunk.
struct NmgLanes {
  std::int64_t m, chunks, chunk, entries;  // chunk: its columns, at most 256
  // [m / nmg_rows_at_once][chunks][entries][nmg_rows_at_once][nmg_lanes], then the remaining rows
  // of m in the same order. Columns are relative to the start of the chunk.
  const std::uint8_t* columns;
  const float* values;
};

// y[c][r][lane] = row r of a block times column c of x. x [columns][ldx], with zeros up to the end
// of the last chunk.
using NmgLanesRun = void(const NmgLanes& a, const float* x, std::int64_t ldx, float* y);

struct NmgSmallBatchTable {
  NmgLanesRun* run[nmg_most_columns];  // for 1, 2, ... columns
};

// nullptr unless has_isa(isa).
const NmgSmallBatchTable* nmg_small_batch_for(Isa isa);
// The table for active_isa().
const NmgSmallBatchTable& nmg_small_batch();

}  // namespace sten::kernels
