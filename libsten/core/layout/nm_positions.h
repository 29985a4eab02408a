// SPDX-License-Identifier: Apache-2.0
// Positions of n:m blocks: packed as in core/layout/nm.h, and as bits of a row.
#pragma once
#include <bit>
#include <cstring>
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

// Error (usage) unless 1 <= n <= m and axis is valid, for n:m and n:m:g.
void check_n_of_m(Index n, Index m, Index axis);

// Bits i to i + n - 1 of an array of words, n <= 64.
inline std::uint64_t bits_from(const std::uint64_t* words, Index i, Index n) {
  if (n == 0) return 0;
  std::uint64_t word = words[i / 64] >> i % 64;
  if (i % 64 + n > 64) word |= words[i / 64 + 1] << (64 - i % 64);
  return word & ~std::uint64_t{0} >> (64 - n);
}

// Sets the bits from i on that are set in `word`. Touches the next word only if bits reach it.
inline void add_bits(std::uint64_t* words, Index i, std::uint64_t word) {
  words[i / 64] |= word << i % 64;
  if (i % 64 && word >> (64 - i % 64)) words[i / 64 + 1] |= word >> (64 - i % 64);
}

// Appends integers of few bits, least significant bit first.
class BitWriter {
 public:
  BitWriter(std::uint8_t* bytes, Index bit) : at_(bytes + bit / 8), used_(bit % 8) {
    if (used_) word_ = *at_ & ((1u << used_) - 1);
  }
  // v < 2^bits, bits <= 64
  void add(std::uint64_t v, Index bits) {
    word_ |= v << used_;
    if (used_ + bits < 64) {
      used_ += bits;
      return;
    }
    std::memcpy(at_, &word_, 8);
    at_ += 8;
    word_ = used_ ? v >> (64 - used_) : 0;
    used_ += bits - 64;
  }
  void finish() {
    for (; used_ > 0; used_ -= 8, word_ >>= 8) *at_++ = static_cast<std::uint8_t>(word_);
  }

 private:
  std::uint8_t* at_;
  Index used_;  // bits of word_, less than 64
  std::uint64_t word_ = 0;
};

class BitReader {
 public:
  // Starts at a bit of the bytes up to `end`; reads zeros after `end`.
  BitReader(const std::uint8_t* bytes, Index bit, const std::uint8_t* end)
      : at_(bytes + bit / 8), end_(end) {
    next(bit % 8);
  }
  // 0 <= bits <= 32
  std::uint32_t next(Index bits) {
    for (; have_ < bits; have_ += 8)
      if (at_ < end_) word_ |= std::uint64_t{*at_++} << have_;
    const std::uint64_t v = word_ & ((std::uint64_t{1} << bits) - 1);
    word_ >>= bits;
    have_ -= bits;
    return static_cast<std::uint32_t>(v);
  }

 private:
  const std::uint8_t *at_, *end_;
  std::uint64_t word_ = 0;
  Index have_ = 0;
};

class NmPositions {
 public:
  static constexpr Index most = 64;
  // Blocks of n out of m <= most.
  NmPositions(Index n, Index m);

  // Packs blocks `first` to first + blocks of a row, whose earlier blocks are packed already. Bit b
  // * m + p of `slots`: whether block first + b has position p; n bits per block are set.
  void write(const std::uint64_t* slots, Index blocks, Index first, std::uint8_t* line) const;
  // The inverse, for a row of `bytes` bytes; positions must be below m. Clears the spare bits of
  // the last word of `slots`.
  void read(const std::uint8_t* line, Index bytes, Index first, Index blocks,
            std::uint64_t* slots) const;

 private:
  Index n_, m_;
  int width_;
  // For small m, a table from the bits of group_ blocks to their packed positions.
  Index group_;
  std::vector<std::uint32_t> codes_;
  // For packed positions of at most 8 bits, a table from read_group_ blocks to their bits.
  Index read_group_ = 0;
  std::vector<std::uint64_t> slots_;
};

}  // namespace sten
