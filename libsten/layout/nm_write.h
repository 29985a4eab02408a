// Writes the lines of an n:m tensor, some blocks at a time.
#pragma once
#include <algorithm>

#include "kernels/elementwise.h"
#include "libsten/layout/nm_positions.h"

namespace sten {

// U: unsigned of the elements' width. m <= NmPositions::most.
template <class U>
class NmWriter {
 public:
  // values[lines, blocks, n] and pos[lines, line_bytes] of Nm, which may be unwritten.
  NmWriter(Index n, Index m, Index blocks, Index line_bytes, U* values, std::uint8_t* pos)
      : n_(n),
        m_(m),
        blocks_(blocks),
        line_bytes_(line_bytes),
        values_(values),
        pos_(pos),
        positions_(n, m) {}

  // x: `cols` elements of the line from column col on, a multiple of m. Bit i of `keep` says
  // whether x[i] stays: n of each block do, but of a short last one any number up to n.
  void write(Index line, Index col, Index cols, const U* x, const std::uint64_t* keep) const {
    const Index first = col / m_, whole = cols / m_;
    std::uint8_t* pos = pos_ + line * line_bytes_;
    kernels::elementwise().of<U>().compress(x, reinterpret_cast<const std::uint8_t*>(keep),
                                            whole * m_, values_ + (line * blocks_ + first) * n_);
    positions_.write(keep, whole, first, pos);
    if (cols % m_)
      write_block(line, first + whole, x + whole * m_, bits_from(keep, whole * m_, cols % m_));
  }

  // x[p] where bit p of `keep`, n at most, is set; then the lowest free positions, with zeros.
  void write_block(Index line, Index block, const U* x, std::uint64_t keep) const {
    std::uint64_t slots = keep;
    while (std::popcount(slots) < n_) slots |= slots + 1;
    positions_.write(&slots, 1, block, pos_ + line * line_bytes_);
    U* to = values_ + (line * blocks_ + block) * n_;
    for (std::uint64_t s = slots; s; s &= s - 1) {
      const int p = std::countr_zero(s);
      *to++ = keep >> p & 1 ? x[p] : U{0};
    }
  }

 private:
  Index n_, m_, blocks_, line_bytes_;
  U* values_;
  std::uint8_t* pos_;
  NmPositions positions_;
};

}  // namespace sten
