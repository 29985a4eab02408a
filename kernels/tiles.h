// Products of rows of A, 16 by 16, with pairs (kernels/interleaved.h): bfloat16 times bfloat16, float32 sums.
//
// A tile is 16 rows times 32 features of A, 1 KB. It is multiplied by 16 rows of pairs, which follow
// each other or are named one by one, as rows of A that share their columns have them.
//
// Every product of two numbers is exact in float32, and each sum is of float32: in steps of 32 features,
// in an order within them that is the table's. The table of amx takes numbers below 2^-126 for 0, and
// so it does with sums; all others compute with them.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

inline constexpr std::int64_t tile_rows = 16, tile_feature_pairs = 16,
                              tile_size = tile_rows * 2 * tile_feature_pairs;

// One or two tiles of rows that share their columns.
struct TileRows {
  const std::uint16_t* values;  // [depth, tiles, 16 rows, 32 features], aligned to 64 bytes
  const std::uint32_t*
      columns;         // [depth, 16]: bytes to a row of pairs of panel_width lanes (narrow
                       // ones take a quarter); nullptr: all rows, from the first
  std::int64_t tiles;  // 1 or 2
  std::int64_t depth;  // in steps of 32 features
};

// Panels of x that are multiplied by the same rows.
struct TilePanels {
  std::int64_t count;
  const std::uint16_t* x;  // pairs [rows, lanes, 2], aligned to 64 bytes
  std::int64_t x_step;     // from one panel to the next, in elements
  float* c;                // [16 * tiles of all rows, lanes], aligned to 64 bytes
  std::int64_t c_step;
};

// C = A * x, or with `more` C += A * x, for `count` rows, whose sums follow each other.
using TilesRun = void(const TileRows* rows, std::int64_t count, const TilePanels& panels,
                      bool more);

// Sums of some rows and tokens, in the first cache, which are not kept.
struct TileBlock {
  float* sums;       // [rows, tokens], aligned to 64 bytes
  std::int64_t row;  // the first of them, of those that are multiplied together
  std::int64_t rows;
  std::int64_t panel, token;  // the first one, in its panel
  std::int64_t tokens;
};
// What takes the sums of each block, as tile_parts equal shares of the work, 0 first. On tiles of AMX
// the next block is multiplied in between.
inline constexpr std::int64_t tile_parts = 4;
struct TileTaker {
  void (*take)(const void* self, const TileBlock& block, std::int64_t part);
  const void* self;
};

// A * x as TilesRun, but sums go to `taker`; c and c_step of `panels` mean nothing.
using TilesEach = void(const TileRows* rows, std::int64_t count, const TilePanels& panels,
                       const TileTaker& taker);

struct TilesTable {
  // Of narrow_panel_width lanes, of panel_width.
  TilesRun* multiply[2];
  TilesEach* each[2];
};

// nullptr where has_isa() says no.
const TilesTable* tiles_for(Isa isa);
// Of active_isa().
const TilesTable& tiles();

}  // namespace sten::kernels
