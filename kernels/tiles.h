// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 tiles of A with interleaved bfloat16 (kernels/interleaved.h), with float32
// sums.
//
// A tile is 16 rows by 32 features of A, 1 KB. It multiplies 16 rows of pairs, which are either
// contiguous or listed in `columns`, for rows of A that share their columns.
//
// Products are exact in float32. Sums are rounded to float32 in steps of 32 features, in an order
// within a step that depends on the table. The amx table treats operands and sums less than 2^-126
// as 0; the other tables do not.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

inline constexpr std::int64_t tile_rows = 16, tile_feature_pairs = 16,
                              tile_size = tile_rows * 2 * tile_feature_pairs;

// One or two tiles of rows of A that share their columns.
struct TileRows {
  const std::uint16_t* values;  // [depth, tiles, 16 rows, 32 features], aligned to 64 bytes
  const std::uint32_t*
      columns;  // [depth, 16]: byte offsets of rows of pairs for panel_width lanes (a quarter
                // for narrow panels); nullptr: all rows in order
  std::int64_t tiles;  // 1 or 2
  std::int64_t depth;  // steps of 32 features
};

// Panels of x that multiply the same rows.
struct TilePanels {
  std::int64_t count;
  const std::uint16_t* x;  // interleaved [rows, lanes, 2], aligned to 64 bytes
  std::int64_t x_step;     // distance of panels, in elements
  float* c;                // [16 * tiles of all rows, lanes], aligned to 64 bytes
  std::int64_t c_step;
};

// C = A * x, or C += A * x with `more`, for `count` entries of `rows`, whose results are
// consecutive.
using TilesRun = void(const TileRows* rows, std::int64_t count, const TilePanels& panels,
                      bool more);

// A temporary block of sums in L1.
struct TileBlock {
  float* sums;       // [rows, tokens], aligned to 64 bytes
  std::int64_t row;  // the first row, among all rows of the product
  std::int64_t rows;
  std::int64_t panel, token;  // the first token, in its panel
  std::int64_t tokens;
};
// Receives the sums of each block, in tile_parts equal shares of the work, starting with part 0.
// With AMX, the next block is multiplied between the calls.
inline constexpr std::int64_t tile_parts = 4;
struct TileTaker {
  void (*take)(const void* self, const TileBlock& block, std::int64_t part);
  const void* self;
};

// The product of TilesRun, but `taker` receives the sums; c and c_step of `panels` are ignored.
using TilesEach = void(const TileRows* rows, std::int64_t count, const TilePanels& panels,
                       const TileTaker& taker);

struct TilesTable {
  // For narrow_panel_width lanes, and for panel_width.
  TilesRun* multiply[2];
  TilesEach* each[2];
};

// nullptr unless has_isa(isa).
const TilesTable* tiles_for(Isa isa);
// The table for active_isa().
const TilesTable& tiles();

}  // namespace sten::kernels
