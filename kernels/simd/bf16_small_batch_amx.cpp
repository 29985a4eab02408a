// SPDX-License-Identifier: Apache-2.0
// Small batches on AMX tiles. Tiles of the weight are the first operand, read in place or expanded
// into L1; activations are the second.
#define STEN_TARGET STEN_AMX
#include <immintrin.h>

#include <cstring>

#include "kernels/bf16_small_batch.h"
#include "kernels/simd/bf16_expand.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::amx {
namespace {

using Int = std::int64_t;

// Inline assembly, because the compilers' intrinsics do not declare the memory that they access.
struct SmallBatchTileShapes {
  std::uint8_t palette = 1, start = 0, reserved[14]{};
  std::uint16_t bytes[16]{};
  std::uint8_t rows[16]{};
};
template <int tile>
inline void load_tile(const void* at, Int stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(at), "r"(stride), "i"(tile) : "memory");
}
template <int tile>
inline void store_tile(void* at, Int stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(at), "r"(stride), "i"(tile) : "memory");
}
template <int tile>
inline void zero_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(tile) : "memory");
}
// Tile c += tile a times tile b.
template <int c, int a, int b>
inline void multiply_tile() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b) : "memory");
}

// Tiles 0 to 3 are the sums of the groups, 4 the activations, 5 and 6 the weight.
constexpr int of_x = 4, of_a = 5;
// Prefetch distance in bytes. A multiple of 4 KB would stay in one set of L1; a much shorter
// distance is too late, and lines of a much longer one are evicted before use.
constexpr Int ahead = 3072;

void begin_tiles(Int tokens) {
  SmallBatchTileShapes shapes;
  for (int t = 0; t < 7; ++t) {
    shapes.rows[t] = 16;
    shapes.bytes[t] = static_cast<std::uint16_t>(t < of_a ? 4 * tokens : 64);
  }
  asm volatile("ldtilecfg %0" ::"m"(shapes) : "memory");
}

// The second operand, by columns of tiles.
struct SmallBatchOperand {
  const std::uint8_t* at;
  Int stride, next;  // bytes between rows, and between columns of tiles
};

template <int group>
inline void one_dense(const std::uint8_t*& from) {
#pragma GCC unroll 16
  for (int line = 0; line < 16; ++line)
    _mm_prefetch(reinterpret_cast<const char*>(from) + ahead + 64 * line, _MM_HINT_T0);
  constexpr int a = of_a + group % 2;
  load_tile<a>(from, 64);
  multiply_tile<group, a, of_x>();
  from += 2 * bf16_tile_size;
}

template <int groups>
inline void multiply_dense(const std::uint8_t* from, Int columns, SmallBatchOperand x) {
  for (Int k = 0; k < columns; ++k, x.at += x.next) {
    load_tile<of_x>(x.at, x.stride);
    one_dense<0>(from);
    if constexpr (groups > 1) one_dense<1>(from);
    if constexpr (groups > 2) one_dense<2>(from);
    if constexpr (groups > 3) one_dense<3>(from);
  }
}

template <int group, bool expands>
inline __attribute__((always_inline)) void one_masked(const std::uint8_t*& from,
                                                      const std::uint16_t* now,
                                                      std::uint16_t* next) {
  if constexpr (expands) from = simd::expand_tile<2>(from, next + group * bf16_tile_size, ahead);
  constexpr int a = of_a + group % 2;
  load_tile<a>(now + group * bf16_tile_size, 64);
  multiply_tile<group, a, of_x>();
}

template <int groups, bool expands>
inline __attribute__((always_inline)) void masked_column(const std::uint8_t*& from,
                                                         const SmallBatchOperand& x,
                                                         const std::uint16_t* now,
                                                         std::uint16_t* next) {
  load_tile<of_x>(x.at, x.stride);
  one_masked<0, expands>(from, now, next);
  if constexpr (groups > 1) one_masked<1, expands>(from, now, next);
  if constexpr (groups > 2) one_masked<2, expands>(from, now, next);
  if constexpr (groups > 3) one_masked<3, expands>(from, now, next);
}

// Expands a column of tiles while the previous one is multiplied, because stores have to reach the
// cache before tiles are loaded from it.
template <int groups>
inline void multiply_masked(const std::uint8_t* from, Int columns, SmallBatchOperand x) {
  alignas(64) std::uint16_t ring[2][groups][bf16_tile_size];
  if (columns == 0) return;
  for (int g = 0; g < groups; ++g) from = simd::expand_tile(from, ring[0][g]);
  for (Int k = 0; k + 1 < columns; ++k, x.at += x.next)
    masked_column<groups, true>(from, x, ring[k % 2][0], ring[(k + 1) % 2][0]);
  masked_column<groups, false>(from, x, ring[(columns - 1) % 2][0], nullptr);
}

template <int groups>
void multiply_groups(const Bf16Tiles& a, const SmallBatchOperand& x, float* y) {
  zero_tile<0>(), zero_tile<1>(), zero_tile<2>(), zero_tile<3>();
  if (a.is_masked)
    multiply_masked<groups>(a.stream, a.columns, x);
  else
    multiply_dense<groups>(a.stream, a.columns, x);
  constexpr Int stride = bf16_most_tokens * sizeof(float),
                group = bf16_tile_rows * bf16_most_tokens;
  store_tile<0>(y, stride);
  if constexpr (groups > 1) store_tile<1>(y + group, stride);
  if constexpr (groups > 2) store_tile<2>(y + 2 * group, stride);
  if constexpr (groups > 3) store_tile<3>(y + 3 * group, stride);
}

// From this many tokens on, activations are read in place.
constexpr Int in_place = 9;

void prepare_tiles(const Bf16SmallBatch& x, float* room) {
  if (x.tokens >= in_place) return;
  auto* to = reinterpret_cast<std::uint8_t*>(room);
  const Int bytes = 4 * x.tokens;
  for (Int p = 0; p < x.feature_pairs; ++p) std::memcpy(to + p * bytes, x.at + p * x.stride, bytes);
}

void multiply_tiles(const Bf16Tiles& a, const Bf16SmallBatch& x, const float* room, float* y) {
  SmallBatchOperand from{reinterpret_cast<const std::uint8_t*>(room), 4 * x.tokens, 64 * x.tokens};
  if (x.tokens >= in_place)
    from = {reinterpret_cast<const std::uint8_t*>(x.at), 2 * x.stride, 32 * x.stride};
  begin_tiles(x.tokens);
  switch (a.groups) {
    case 1:
      multiply_groups<1>(a, from, y);
      break;
    case 2:
      multiply_groups<2>(a, from, y);
      break;
    case 3:
      multiply_groups<3>(a, from, y);
      break;
    default:
      multiply_groups<4>(a, from, y);
  }
  asm volatile("tilerelease" ::: "memory");
}

}  // namespace
}  // namespace sten::kernels::amx
STEN_TARGET_END

namespace sten::kernels {

const Bf16SmallBatchTable* bf16_small_batch_amx() {
  static constexpr Bf16SmallBatchTable table{
      nullptr, nullptr, amx::prepare_tiles, amx::multiply_tiles, nullptr, nullptr, nullptr,
      nullptr, nullptr};
  return cpu_runs(STEN_AMX) ? &table : nullptr;
}

}  // namespace sten::kernels
