// SPDX-License-Identifier: Apache-2.0
// Writer of the rows of an n:m tensor, some blocks at a time.
#pragma once
#include <algorithm>

#include "kernels/elementwise.h"
#include "libsten/core/layout/nm_positions.h"

namespace sten {

// U: unsigned integer of the elements' width. m <= NmPositions::most.
template <class U>
class NmWriter {
 public:
  // values[rows, blocks, n] and pos[rows, row_bytes] of Nm, possibly uninitialized.
  NmWriter(Index n, Index m, Index blocks, Index row_bytes, U* values, std::uint8_t* pos)
      : n_(n),
        m_(m),
        blocks_(blocks),
        row_bytes_(row_bytes),
        values_(values),
        pos_(pos),
        positions_(n, m) {}

  // Writes x[cols], the elements of a row from column col on, a multiple of m. Bit i of `keep`:
  // whether x[i] is kept. Every block keeps exactly n; a short last block may keep fewer.
  void write(Index line, Index col, Index cols, const U* x, const std::uint64_t* keep) const {
    const Index first = col / m_, whole = cols / m_;
    kernels::elementwise().of<U>().compress(x, reinterpret_cast<const std::uint8_t*>(keep),
                                            whole * m_, values_ + (line * blocks_ + first) * n_);
    positions_.write(keep, whole, first, pos_ + line * row_bytes_);
    if (cols % m_) fill(line, first, whole, cols, x, keep);
  }

  // The same for blocks that keep up to n. False, with undefined output, if a block keeps more.
  bool pack(Index line, Index col, Index cols, const U* x, const std::uint64_t* keep) const {
    bool full = true;
    for (Index c = 0; c < cols; c += m_) {
      const Index kept = std::popcount(bits_from(keep, c, std::min(m_, cols - c)));
      if (kept > n_) return false;
      full &= kept == n_ || cols - c < m_;
    }
    if (full)
      write(line, col, cols, x, keep);
    else
      fill(line, col / m_, 0, cols, x, keep);
    return true;
  }

 private:
  // Writes the blocks from `begin` of x on, the first being block `first` + begin of the row: the
  // kept values, at most n per block, and zeros at the lowest free positions.
  void fill(Index line, Index first, Index begin, Index cols, const U* x,
            const std::uint64_t* keep) const {
    constexpr Index some = 64;
    const Index end = ceil_div(cols, m_);
    for (; begin < end; begin += some) {
      const Index count = std::min(some, end - begin);
      std::uint64_t all[some + 1] = {};
      U* to = values_ + (line * blocks_ + first + begin) * n_;
      for (Index b = 0; b < count; ++b) {
        const Index c = (begin + b) * m_;
        const std::uint64_t kept = bits_from(keep, c, std::min(m_, cols - c));
        std::uint64_t slots = kept;
        while (std::popcount(slots) < n_) slots |= slots + 1;
        add_bits(all, b * m_, slots);
        for (; slots; slots &= slots - 1) {
          const int p = std::countr_zero(slots);
          *to++ = kept >> p & 1 ? x[c + p] : U{0};
        }
      }
      positions_.write(all, count, first + begin, pos_ + line * row_bytes_);
    }
  }

  Index n_, m_, blocks_, row_bytes_;
  U* values_;
  std::uint8_t* pos_;
  NmPositions positions_;
};

}  // namespace sten
