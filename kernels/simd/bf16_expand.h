// Masked tiles of kernels/bf16_small_batch.h, with VBMI2.
#pragma once
#include <immintrin.h>

#include <cstdint>

#include "kernels/bf16_small_batch.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {
namespace {  // each file has its own, of its own instructions

// A tile at `from`, aligned to 64 bytes at `to`; returns where the next begins. Every `rows_a_fetch`-th
// row asks for what is `ahead` bytes behind its values, 0: none does.
//
// Expanding keeps one port busy, which masks that come from memory would need too: words are shifted
// instead, and the mask of a row is their signs.
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
