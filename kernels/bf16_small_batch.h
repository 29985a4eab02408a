// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 weights with a small batch. Their time is that of reading the weight. Sums
// are float32.
//
// A weight is packed in one of four forms.
//
// *Rows*: dense, in groups of 16 rows. Each row has a multiple of 32 columns. Up to four groups are
// multiplied together, which can be anywhere in the matrix.
//
// *Tiles* of 16 rows and 32 columns, for AMX, in blocks of 64 rows, each of which is read
// sequentially. They are ordered by tile column: first the row groups of the block in one tile
// column, then those of the next. A tile is
// - dense: [16][32] values, 1 KB; or
// - masked: one 16-bit word per column (bit 15 - r is set if row r has a value), one byte per row
//   (twice its number of values), and the values row by row: 80 bytes plus 2 per value.
//
// *Lanes*, up to four groups together, too: a lane is one row of a group of 16. A step has a window
// of columns, which starts `advance` columns after the window of the previous step, and two values
// per row from that window: 32 bytes for their columns, relative to the start of the window, and 64
// bytes for the values, row by row. Missing values are 0. A step takes 96 bytes, plus 2 for
// `advance`. A window has 64 columns, which can be looked up in registers, or 256 columns in *far*
// lanes. In *narrow* lanes a window has 16 columns, and a byte holds the two columns of a row, the
// first in its lower half: 80 bytes per step.
//
// *Strips* of n:m:g (kernels/nmg_gemm.h), a few row blocks at a time widened to float32 in L1: per
// 64 strips 64 bytes, where byte 2 i is the row in its slab of strip i and byte 2 i + 1 that of
// strip 32 + i; then per 32 values 64 bytes, where word 2 i is value i and word 2 i + 1 is value 16
// + i.
//
// Padding zeros are multiplied: if a token has an infinity or NaN, the result is NaN in every row,
// as in a dense product.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

inline constexpr std::int64_t bf16_tile_rows = 16, bf16_tile_columns = 32;
inline constexpr std::int64_t bf16_tile_size = bf16_tile_rows * bf16_tile_columns;
inline constexpr std::int64_t bf16_block_groups = 4;
// Groups of rows or lanes that are multiplied together, each read as a stream of its own.
inline constexpr std::int64_t bf16_streams = 4;
inline constexpr std::int64_t bf16_block_rows = bf16_block_groups * bf16_tile_rows;
inline constexpr std::int64_t bf16_mask_bytes =
    2 * bf16_tile_columns;  // followed by one byte per row
inline constexpr std::int64_t bf16_masked_bytes = bf16_mask_bytes + bf16_tile_rows;
// Columns of a window.
inline constexpr std::int64_t bf16_window = 64, bf16_narrow_window = 16, bf16_far_window = 256;
inline constexpr std::int64_t bf16_step_values = 32;  // two per row
// Bytes of a step: of its columns, and in total without `advance`.
constexpr std::int64_t bf16_column_bytes(bool is_narrow) {
  return is_narrow ? bf16_step_values / 2 : bf16_step_values;
}
constexpr std::int64_t bf16_step_bytes(bool is_narrow) {
  return bf16_column_bytes(is_narrow) + 2 * bf16_step_values;
}
// Maximum batch of one product in rows or tiles, and of one in lanes.
inline constexpr std::int64_t bf16_most_tokens = 16, bf16_most_in_lanes = 2 * bf16_most_tokens;
// Floats of the result of a block and bf16_most_tokens tokens.
inline constexpr std::int64_t bf16_block_sums = bf16_block_rows * bf16_most_tokens;

// Up to 4 groups of 16 rows.
struct Bf16Rows {
  const std::uint16_t* groups[bf16_streams];  // [rows][columns] each
  std::int64_t count;
  std::int64_t columns;
};

// A block of a weight in tiles.
struct Bf16Tiles {
  const std::uint8_t* stream;  // dense tiles are aligned to 64 bytes
  std::int64_t groups;         // of 16 rows, up to 4
  std::int64_t columns;        // in tiles
  bool is_masked;
};

// A group of 16 rows in lanes.
struct Bf16Lanes {
  const std::uint16_t*
      advance;  // [steps] columns after the previous window; the first counts from column 0
  const std::uint8_t* steps;  // [steps][bf16_step_bytes(is_narrow)]
  std::int64_t count;
  bool is_narrow;
};

// A segment of a weight in strips.
struct Bf16Strips {
  const std::uint8_t* stream;
  std::int64_t strips, values;
};
constexpr std::int64_t bf16_strip_room(std::int64_t strips) { return (strips + 63) / 64 * 64; }
constexpr std::int64_t bf16_value_room(std::int64_t values) { return (values + 31) / 32 * 32; }

// Interleaved activations (kernels/interleaved.h): pair p of token t is at [p * stride + 2 t].
// Pairs up to a multiple of 16 are readable, with zeros after the last feature.
struct Bf16SmallBatch {
  const std::uint16_t* at;
  std::int64_t stride;
  std::int64_t feature_pairs;  // a multiple of 16
  // At most bf16_most_tokens in rows and tiles, and bf16_most_in_lanes in lanes. With two or
  // more tokens, memory has room for the maximum.
  std::int64_t tokens;
};

// Row stride, in floats, of widened tokens.
constexpr std::int64_t bf16_width(std::int64_t tokens) {
  if (tokens <= 8) return 8;
  return tokens <= bf16_most_tokens ? bf16_most_tokens : bf16_most_in_lanes;
}

// Floats of scratch for prepare_rows(), prepare_tiles() and prepare_lanes().
constexpr std::int64_t bf16_small_batch_scratch(std::int64_t feature_pairs, std::int64_t tokens) {
  return (2 * feature_pairs + bf16_window) *
         (tokens > bf16_most_tokens ? bf16_most_in_lanes : bf16_most_tokens);
}

struct Bf16SmallBatchTable {
  // Prepares x for multiply_rows(), once for all groups. room: bf16_small_batch_scratch() floats,
  // aligned to 64 bytes.
  void (*prepare_rows)(const Bf16SmallBatch& x, float* room);
  // y = A x: y[row of the groups][token] with row stride bf16_most_tokens. Elements of y after the
  // last token are undefined.
  void (*multiply_rows)(const Bf16Rows& a, const Bf16SmallBatch& x, const float* room, float* y);
  // The same for a block in tiles.
  void (*prepare_tiles)(const Bf16SmallBatch& x, float* room);
  void (*multiply_tiles)(const Bf16Tiles& a, const Bf16SmallBatch& x, const float* room, float* y);
  // The same for 1 to bf16_streams groups in lanes. Tokens from bf16_most_tokens on
  // are in a second result, bf16_block_sums floats after the first.
  void (*prepare_lanes)(const Bf16SmallBatch& x, bool is_narrow, float* room);
  void (*multiply_lanes)(const Bf16Lanes* a, std::int64_t groups, const Bf16SmallBatch& x,
                         const float* room, float* y);
  // Whether this table looks up the features of so many tokens in registers. If not, lanes can be
  // far.
  bool (*looks_up)(std::int64_t tokens, bool is_narrow);
  // Widens x for products of strips: [features][bf16_width(x.tokens)], with zeros after the last
  // token.
  void (*widen_tokens)(const Bf16SmallBatch& x, float* rows);
  // Widens strips to offsets[bf16_strip_room()], in the units of kernels/nmg_gemm.h, and
  // values[bf16_value_room()]. Both outputs are aligned to 64 bytes.
  void (*widen_strips)(const Bf16Strips& a, std::uint16_t* offsets, float* values);
};

// nullptr unless has_isa(isa).
const Bf16SmallBatchTable* bf16_small_batch_for(Isa isa);
// The table for active_isa().
const Bf16SmallBatchTable& bf16_small_batch();

}  // namespace sten::kernels
