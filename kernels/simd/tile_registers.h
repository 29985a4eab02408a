// SPDX-License-Identifier: Apache-2.0
// Instructions of matrix tiles as inline assembly, because the intrinsics of g++ 12 do not declare
// all memory that they access.
#pragma once
#include <cstdint>

// Tile registers are given as literals. Strides are in bytes.
#define STEN_TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile ::)
#define STEN_TILE_LOAD(tile, from, stride)                     \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), \
               "r"(static_cast<std::int64_t>(stride))          \
               : "memory")
#define STEN_TILE_STORE(tile, to, stride)                        \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), \
               "r"(static_cast<std::int64_t>(stride))            \
               : "memory")
// sums += a b, bfloat16.
#define STEN_TILE_MULTIPLY(sums, a, b) \
  asm volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #sums ::)

namespace sten::kernels::simd {
namespace {

// Configures eight tiles of 16 rows of 64 bytes for the thread, until it is destroyed.
struct WholeTiles {
  WholeTiles() {
    struct alignas(64) {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } const shapes;
    static_assert(sizeof shapes == 64);
    asm volatile("ldtilecfg %0" ::"m"(shapes) : "memory");
  }
  ~WholeTiles() { asm volatile("tilerelease" ::); }
  WholeTiles(const WholeTiles&) = delete;
  WholeTiles& operator=(const WholeTiles&) = delete;
};

}  // namespace
}  // namespace sten::kernels::simd
