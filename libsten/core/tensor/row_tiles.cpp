// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/row_tiles.h"

#include <bit>
#include <cstring>

namespace sten {
namespace {

// Transposes 64 x 64 bits by exchanging quarters of ever smaller squares (Warren, Hacker's Delight,
// 7-3).
void transpose_bits(std::uint64_t (&rows)[64]) {
  std::uint64_t mask = 0x00000000ffffffff;
  for (int half = 32; half; half >>= 1, mask ^= mask << half)
    for (int r = 0; r < 64; r = (r + half + 1) & ~half) {
      const std::uint64_t t = (rows[r] >> half ^ rows[r + half]) & mask;
      rows[r] ^= t << half;
      rows[r + half] ^= t;
    }
}

// Bits i to i + n - 1, 1 <= n <= 64.
std::uint64_t word_from(const std::uint8_t* bits, Index i, Index n) {
  const Index shift = i % 8, bytes = ceil_div(shift + n, 8);
  std::uint64_t word = 0;
  std::memcpy(&word, bits + i / 8, std::min<Index>(bytes, 8));
  word >>= shift;
  if (bytes > 8) word |= std::uint64_t{bits[i / 8 + 8]} << (64 - shift);
  return word & ~std::uint64_t{0} >> (64 - n);
}

}  // namespace

void RowTiles::set_bits(const Tile& p, const Words& words, std::uint8_t* bits) const {
  if (in_place_) {
    for (Index c = 0; c < p.cols; c += 64) set_bits_shared(bits, p.offset + c, words[c / 64]);
    return;
  }
  std::uint64_t square[64];
  for (Index c0 = 0; c0 < p.cols; c0 += 64) {
    for (Index l = 0; l < 64; ++l)
      square[l] = l < p.lines ? words[l * words_per_row() + c0 / 64] : 0;
    transpose_bits(square);
    const Index cols = std::min<Index>(64, p.cols - c0);
    for (Index c = 0; c < cols; ++c) {
      const Index at = p.offset + (c0 + c) * view_.col_stride;
      if (view_.row_stride == 1) {
        set_bits_shared(bits, at, square[c]);
        continue;
      }
      for (std::uint64_t w = square[c]; w; w &= w - 1)
        set_bit_shared(bits, at + std::countr_zero(w) * view_.row_stride);
    }
  }
}

void RowTiles::get_bits(const Tile& p, const std::uint8_t* bits, Words& words) const {
  if (in_place_) {
    for (Index c = 0; c < p.cols; c += 64)
      words[c / 64] = word_from(bits, p.offset + c, std::min<Index>(64, p.cols - c));
    return;
  }
  std::uint64_t square[64];
  for (Index c0 = 0; c0 < p.cols; c0 += 64) {
    const Index cols = std::min<Index>(64, p.cols - c0);
    for (Index c = 0; c < 64; ++c) {
      square[c] = 0;
      if (c >= cols) continue;
      const Index at = p.offset + (c0 + c) * view_.col_stride;
      if (view_.row_stride == 1) {
        square[c] = word_from(bits, at, p.lines);
        continue;
      }
      for (Index l = 0; l < p.lines; ++l)
        square[c] |= std::uint64_t{bit_at(bits, at + l * view_.row_stride)} << l;
    }
    transpose_bits(square);
    for (Index l = 0; l < p.lines; ++l) words[l * words_per_row() + c0 / 64] = square[l];
  }
}

}  // namespace sten
