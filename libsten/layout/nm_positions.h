// The positions of n:m blocks: packed, as layout/nm.h stores them, and as bits of a line.
#pragma once
#include <bit>
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

class NmPositions {
 public:
  static constexpr Index most = 64;
  // n of m <= most.
  NmPositions(Index n, Index m);

  // Writes `blocks` blocks of a line, from block `first` on; the line's positions before them are
  // written already. Bit b * m + p of `slots` says that block first + b has position p: n do.
  void write(const std::uint64_t* slots, Index blocks, Index first, std::uint8_t* line) const;

 private:
  Index n_, m_;
  int width_;
  // For small m: what some blocks' bits, `group_` blocks of them, are as positions.
  Index group_;
  std::vector<std::uint32_t> codes_;
};

}  // namespace sten
