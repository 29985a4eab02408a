// Products of bfloat16 weights with few tokens, which take as long as reading the weight does. Sums
// are float32.
//
// A weight lies in one of two forms, cut into blocks of 64 rows, each of which is read from its
// beginning to its end.
//
// *Tiles* of 16 rows and 32 columns, column by column of tiles: those of the block's groups of 16 rows,
// then the next. A tile is
// - dense: [16][32] values, 1 KB; or
// - masked: a word for each of its columns (bit 15 - r is set where row r has a value), a byte for each
//   of its rows (twice the number of its values), and these values, row by row: 80 bytes and 2 for
//   each value.
//
// *Lanes*: a lane is a row of a group of 16. A step has a window of columns, which begins so many behind
// that of the step before, and two values of each row that are in the window: 32 bytes with their
// columns, counted from the beginning of the window, and 64 with the values, row by row. What is missing
// has value 0. 96 bytes a step, and 2 that say where the window begins. A window has 64 columns, which
// can be looked up in registers, or 256 in *far* lanes. In *narrow* ones it has 16, and a byte holds the
// columns of a row's two values, the first one's in its lower half: 80 bytes a step.
//
// *Strips* of n:m:g (kernels/nmg_gemm.h), which are widened into the first cache some row blocks at a
// time: for each 64 strips 64 bytes, of which byte 2 i has the row of strip i in its slab and byte
// 2 i + 1 that of strip 32 + i; then for each 32 values 64 bytes, of which word 2 i is value i and word
// 2 i + 1 value 16 + i.
//
// With zeros among the values, results of a token are NaN in any row where the token has an infinity
// or NaN, as they are of a dense product.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

inline constexpr std::int64_t bf16_tile_rows = 16, bf16_tile_columns = 32;
inline constexpr std::int64_t bf16_tile_size = bf16_tile_rows * bf16_tile_columns;
inline constexpr std::int64_t bf16_block_groups = 4;
inline constexpr std::int64_t bf16_block_rows = bf16_block_groups * bf16_tile_rows;
inline constexpr std::int64_t bf16_mask_bytes = 2 * bf16_tile_columns;  // and then those of rows
inline constexpr std::int64_t bf16_masked_bytes = bf16_mask_bytes + bf16_tile_rows;
// Columns.
inline constexpr std::int64_t bf16_window = 64, bf16_narrow_window = 16, bf16_far_window = 256;
inline constexpr std::int64_t bf16_step_values = 32;  // two of each row
// Bytes of a step's columns, and of all of it but `advance`.
constexpr std::int64_t bf16_column_bytes(bool is_narrow) {
  return is_narrow ? bf16_step_values / 2 : bf16_step_values;
}
constexpr std::int64_t bf16_step_bytes(bool is_narrow) {
  return bf16_column_bytes(is_narrow) + 2 * bf16_step_values;
}
// Of one product in tiles, and of one in lanes.
inline constexpr std::int64_t bf16_most_tokens = 16, bf16_most_in_lanes = 2 * bf16_most_tokens;
// Sums of a block, of bf16_most_tokens tokens: rows of so many floats.
inline constexpr std::int64_t bf16_block_sums = bf16_block_rows * bf16_most_tokens;

// A block in tiles.
struct Bf16Tiles {
  const std::uint8_t* stream;  // dense tiles are aligned to 64 bytes
  std::int64_t groups;         // of 16 rows, up to 4
  std::int64_t columns;        // of tiles
  bool is_masked;
};

// A group of 16 rows in lanes.
struct Bf16Lanes {
  const std::uint16_t*
      advance;                // [steps] columns from the window before; of the first from column 0
  const std::uint8_t* steps;  // [steps][bf16_step_bytes(is_narrow)]
  std::int64_t count;
  bool is_narrow;
};

// Some strips.
struct Bf16Strips {
  const std::uint8_t* stream;
  std::int64_t strips, values;
};
constexpr std::int64_t bf16_strip_room(std::int64_t strips) { return (strips + 63) / 64 * 64; }
constexpr std::int64_t bf16_value_room(std::int64_t values) { return (values + 31) / 32 * 32; }

// Activations in pairs (kernels/interleaved.h): pair p of token t is at [p * stride + 2 t]. Pairs up to a
// multiple of 16 are there, and 0 beyond the last feature.
struct Bf16SmallBatch {
  const std::uint16_t* at;
  std::int64_t stride;
  std::int64_t feature_pairs;  // a multiple of 16
  // Up to bf16_most_tokens, or bf16_most_in_lanes; memory is there for all of these.
  std::int64_t tokens;
};

// How many floats a row of tokens has.
constexpr std::int64_t bf16_width(std::int64_t tokens) {
  if (tokens <= 8) return 8;
  return tokens <= bf16_most_tokens ? bf16_most_tokens : bf16_most_in_lanes;
}

// Floats of memory for what is made of activations of so many pairs and tokens.
constexpr std::int64_t bf16_small_batch_scratch(std::int64_t feature_pairs, std::int64_t tokens) {
  return (2 * feature_pairs + bf16_window) *
         (tokens > bf16_most_tokens ? bf16_most_in_lanes : bf16_most_tokens);
}

struct Bf16SmallBatchTable {
  // What multiply_tiles() reads of x, in `room` (bf16_small_batch_scratch(), aligned to 64 bytes): once for all
  // blocks.
  void (*prepare_tiles)(const Bf16SmallBatch& x, float* room);
  // y[row][token] = the block times x, rows of bf16_most_tokens floats; those beyond the last token
  // are left or written.
  void (*multiply_tiles)(const Bf16Tiles& a, const Bf16SmallBatch& x, const float* room, float* y);
  // The same in lanes, whose groups a block has one to bf16_block_groups of. Sums of tokens from
  // bf16_most_tokens on are bf16_block_sums behind those of the first.
  void (*prepare_lanes)(const Bf16SmallBatch& x, bool is_narrow, float* room);
  void (*multiply_lanes)(const Bf16Lanes* a, std::int64_t groups, const Bf16SmallBatch& x,
                         const float* room, float* y);
  // Whether it looks the features of so many tokens up in registers, for lanes that are narrow or not.
  // Else lanes may be far.
  bool (*looks_up)(std::int64_t tokens, bool is_narrow);
  // What products of strips read of x: [features][bf16_width(x.tokens)], with zeros for tokens that are
  // not there.
  void (*widen_tokens)(const Bf16SmallBatch& x, float* rows);
  // offsets[bf16_strip_room()] as kernels/nmg_gemm.h has them, and values[bf16_value_room()]; both
  // aligned to 64 bytes.
  void (*widen_strips)(const Bf16Strips& a, std::uint16_t* offsets, float* values);
  // Masked tiles as dense ones: tile k of group g at to + g * stride + k * bf16_tile_size, aligned to
  // 64 bytes. Returns where the stream goes on, for who expands some columns of tiles at a time.
  const std::uint8_t* (*expand)(const Bf16Tiles& a, std::uint16_t* to, std::int64_t stride);
};

// nullptr where has_isa() says no.
const Bf16SmallBatchTable* bf16_small_batch_for(Isa isa);
// Of active_isa().
const Bf16SmallBatchTable& bf16_small_batch();

}  // namespace sten::kernels
