// SPDX-License-Identifier: Apache-2.0
// Expansion of masked tiles (kernels/bf16_small_batch.h) with VBMI2.
#pragma once
#include <immintrin.h>

#include <cstdint>

#include "kernels/bf16_small_batch.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // a copy per file, for its own target

// Expands a tile at `from` to `to`, aligned to 64 bytes; returns the start of the next tile. Every
// `rows_a_fetch`-th row prefetches the line `ahead` bytes after its values; 0: no prefetch.
//
// Expansion saturates one port, which loading masks from memory would use too. Therefore words are
// shifted, and the mask of a row is their sign bits.
template <int rows_a_fetch = 0>
inline __attribute__((always_inline)) const std::uint8_t* expand_tile(const std::uint8_t* from,
                                                                      std::uint16_t* to,
                                                                      std::int64_t ahead = 0) {
  __m512i words = _mm512_loadu_si512(from);
  const std::uint8_t *const bytes = from + bf16_mask_bytes, *value = from + bf16_masked_bytes;
#pragma GCC unroll 16
  for (int r = 0; r < bf16_tile_rows; ++r) {
    const __mmask32 mask = _mm512_movepi16_mask(words);
    words = _mm512_add_epi16(words, words);
    if constexpr (rows_a_fetch != 0)
      if (r % rows_a_fetch == 0)
        _mm_prefetch(reinterpret_cast<const char*>(value) + ahead, _MM_HINT_T0);
    _mm512_store_si512(to + r * bf16_tile_columns, _mm512_maskz_expandloadu_epi16(mask, value));
    value += bytes[r];
  }
  return value;
}

}  // namespace
}  // namespace sten::kernels::simd
STEN_TARGET_END
