// The positions of n:m blocks: packed, as layout/nm.h stores them, and as bits of a line.
#pragma once
#include <bit>
#include <cstring>
#include <vector>

#include "libsten/base/shape.h"

namespace sten {

// Bits i to i + n - 1 of an array of words, n <= 64.
inline std::uint64_t bits_from(const std::uint64_t* words, Index i, Index n) {
  if (n == 0) return 0;
  std::uint64_t word = words[i / 64] >> i % 64;
  if (i % 64 + n > 64) word |= words[i / 64 + 1] << (64 - i % 64);
  return word & ~std::uint64_t{0} >> (64 - n);
}

// Sets those of the bits from i on that `word` has. The word after may be touched if they reach it.
inline void add_bits(std::uint64_t* words, Index i, std::uint64_t word) {
  words[i / 64] |= word << i % 64;
  if (i % 64 && word >> (64 - i % 64)) words[i / 64 + 1] |= word >> (64 - i % 64);
}

// Appends numbers of few bits, least significant first.
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
  Index used_;  // of word_, less than 64
  std::uint64_t word_ = 0;
};

// Reads them.
class BitReader {
 public:
  // From a bit on, of bytes up to `end`; zeros follow.
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
  // n of m <= most.
  NmPositions(Index n, Index m);

  // Writes `blocks` blocks of a line, from block `first` on; the line's positions before them are
  // written already. Bit b * m + p of `slots` says that block first + b has position p: n do.
  void write(const std::uint64_t* slots, Index blocks, Index first, std::uint8_t* line) const;
  // The inverse, of a line of `bytes` bytes; positions are below m. Spare bits of the last word of
  // `slots` are set to 0.
  void read(const std::uint8_t* line, Index bytes, Index first, Index blocks,
            std::uint64_t* slots) const;

 private:
  Index n_, m_;
  int width_;
  // For small m: what some blocks' bits, `group_` blocks of them, are as positions.
  Index group_;
  std::vector<std::uint32_t> codes_;
  // The inverse, of read_group_ blocks, for positions of 8 bits at most.
  Index read_group_ = 0;
  std::vector<std::uint64_t> slots_;
};

}  // namespace sten
