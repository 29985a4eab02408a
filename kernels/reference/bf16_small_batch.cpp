// SPDX-License-Identifier: Apache-2.0
#include "kernels/bf16_small_batch.h"

#include <algorithm>
#include <cstring>

#include "kernels/csr.h"
#include "kernels/interleaved.h"

namespace sten::kernels {
namespace {

constexpr std::int64_t tokens = bf16_most_tokens;

// Widens x to rows of features, [features, tokens].
void prepare(const Bf16SmallBatch& x, float* room) {
  for (std::int64_t k = 0; k < 2 * x.feature_pairs; ++k)
    for (std::int64_t t = 0; t < x.tokens; ++t)
      *room++ = widen_bf16(x.at[k / 2 * x.stride + 2 * t + k % 2]);
}

const std::uint8_t* expand_tile(const std::uint8_t* from, std::uint16_t* to) {
  std::uint16_t mask[bf16_tile_columns];
  std::memcpy(mask, from, sizeof mask);
  from += bf16_masked_bytes;
  for (std::int64_t r = 0; r < bf16_tile_rows; ++r)
    for (std::int64_t j = 0; j < bf16_tile_columns; ++j, ++to)
      if (mask[j] >> (bf16_tile_rows - 1 - r) & 1) {
        std::memcpy(to, from, sizeof *to);
        from += sizeof *to;
      } else {
        *to = 0;
      }
  return from;
}

void multiply_tiles(const Bf16Tiles& a, const Bf16SmallBatch& x, const float* room, float* y) {
  std::fill_n(y, a.groups * bf16_tile_rows * tokens, 0.0f);
  const std::uint8_t* from = a.stream;
  std::uint16_t tile[bf16_tile_size];
  for (std::int64_t k = 0; k < a.columns; ++k)
    for (std::int64_t g = 0; g < a.groups; ++g) {
      if (a.is_masked) {
        from = expand_tile(from, tile);
      } else {
        std::memcpy(tile, from, sizeof tile);
        from += sizeof tile;
      }
      for (std::int64_t r = 0; r < bf16_tile_rows; ++r)
        for (std::int64_t j = 0; j < bf16_tile_columns; ++j)
          for (std::int64_t t = 0; t < x.tokens; ++t)
            y[(g * bf16_tile_rows + r) * tokens + t] +=
                widen_bf16(tile[r * bf16_tile_columns + j]) *
                room[(k * bf16_tile_columns + j) * x.tokens + t];
    }
}

void multiply_rows(const Bf16Rows& a, const Bf16SmallBatch& x, const float* room, float* y) {
  std::fill_n(y, a.count * bf16_tile_rows * tokens, 0.0f);
  for (std::int64_t g = 0; g < a.count; ++g)
    for (std::int64_t r = 0; r < bf16_tile_rows; ++r, y += tokens)
      for (std::int64_t j = 0; j < a.columns; ++j)
        for (std::int64_t t = 0; t < x.tokens; ++t)
          y[t] += widen_bf16(a.groups[g][r * a.columns + j]) * room[j * x.tokens + t];
}

void multiply_group(const Bf16Lanes& a, const Bf16SmallBatch& x, const float* room, float* y) {
  const std::uint8_t* step = a.steps;
  for (std::int64_t s = 0; s < a.count; ++s, step += bf16_step_bytes(a.is_narrow)) {
    room += a.advance[s] * x.tokens;
    for (std::int64_t i = 0; i < bf16_step_values; ++i) {
      const int place = a.is_narrow ? step[i / 2] >> 4 * (i % 2) & 15 : step[i];
      std::uint16_t value;
      std::memcpy(&value, step + bf16_column_bytes(a.is_narrow) + 2 * i, sizeof value);
      for (std::int64_t t = 0; t < x.tokens; ++t)
        y[t / tokens * bf16_block_sums + i / 2 * tokens + t % tokens] +=
            widen_bf16(value) * room[place * x.tokens + t];
    }
  }
}

void multiply_lanes(const Bf16Lanes* a, std::int64_t groups, const Bf16SmallBatch& x,
                    const float* room, float* y) {
  constexpr std::int64_t size = bf16_tile_rows * tokens;
  for (std::int64_t t = 0; t < x.tokens; t += tokens)
    std::fill_n(y + t / tokens * bf16_block_sums, groups * size, 0.0f);
  for (std::int64_t g = 0; g < groups; ++g) multiply_group(a[g], x, room, y + g * size);
}

void prepare_lanes(const Bf16SmallBatch& x, bool, float* room) { prepare(x, room); }

bool looks_up(std::int64_t, bool) { return false; }

void widen_tokens(const Bf16SmallBatch& x, float* rows) {
  const std::int64_t width = bf16_width(x.tokens);
  for (std::int64_t k = 0; k < 2 * x.feature_pairs; ++k)
    for (std::int64_t t = 0; t < width; ++t)
      *rows++ = t < x.tokens ? widen_bf16(x.at[k / 2 * x.stride + 2 * t + k % 2]) : 0;
}

void widen_strips(const Bf16Strips& a, std::uint16_t* offsets, float* values) {
  const std::uint8_t* from = a.stream;
  for (std::int64_t i = 0; i < bf16_strip_room(a.strips); ++i)
    offsets[i / 64 * 64 + i % 2 * 32 + i % 64 / 2] =
        static_cast<std::uint16_t>(*from++ * panel_width * sizeof(float));
  for (std::int64_t i = 0; i < bf16_value_room(a.values); ++i, from += 2) {
    std::uint16_t value;
    std::memcpy(&value, from, sizeof value);
    values[i / 32 * 32 + i % 2 * 16 + i % 32 / 2] = widen_bf16(value);
  }
}

constexpr Bf16SmallBatchTable table{prepare,        multiply_rows, prepare,
                                    multiply_tiles, prepare_lanes, multiply_lanes,
                                    looks_up,       widen_tokens,  widen_strips};

}  // namespace

const Bf16SmallBatchTable* bf16_small_batch_reference() { return &table; }

}  // namespace sten::kernels
