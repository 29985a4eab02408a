// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/occupancy.h"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace sten {
namespace {

// The default block size of bcsr is counted in the same pass.
using UsualBlock = std::integral_constant<Index, 4>;

}  // namespace

template <class H, class W>
Occupancy::Counts Occupancy::count_list(H h, W w) const {
  Counts c;
  const std::vector<Index>& at = positions_.at;
  c.stored = std::ssize(at);
  std::vector<Index> in_block;  // block columns of the positions in some rows
  for (std::size_t k = 0; k < at.size();) {
    const Index row0 = at[k] / view_.cols / h * h, rows = std::min<Index>(h, view_.rows - row0);
    in_block.clear();
    for (Index row = -1, entries = 0; k < at.size() && at[k] / view_.cols < row0 + rows; ++k) {
      entries = at[k] / view_.cols == row ? entries + 1 : 1;
      row = at[k] / view_.cols;
      c.longest = std::max(c.longest, entries);
      in_block.push_back(at[k] % view_.cols / w);
    }
    std::ranges::sort(in_block);
    for (std::size_t b = 0, end = 0; b < in_block.size(); b = end) {
      while (end < in_block.size() && in_block[end] == in_block[b]) ++end;
      ++c.blocks.count;
      c.blocks.are_full &=
          static_cast<Index>(end - b) == rows * std::min<Index>(w, view_.cols - in_block[b] * w);
    }
  }
  return c;
}

template <class H, class W>
Occupancy::Counts Occupancy::count_bits(H h, W w) const {
  Counts c;
  const Mask& mask = positions_.mask;
  if (mask.size() == 0) return c;  // next to an extent of 0, the other extents may be huge
  std::vector<std::uint32_t> in_block(ceil_div(view_.cols, w));
  for (Index row0 = 0; row0 < view_.rows; row0 += h) {
    const Index rows = std::min<Index>(h, view_.rows - row0);
    std::ranges::fill(in_block, 0);
    for (Index r = row0; r < row0 + rows; ++r) {
      Index entries = 0;
      const Index begin = r * view_.cols;
      for (Index k = 0; k < view_.cols; ++k)
        if (mask[begin + k]) {
          ++entries;
          ++in_block[k / w];
        }
      c.stored += entries;
      c.longest = std::max(c.longest, entries);
    }
    for (Index b = 0; b < std::ssize(in_block); ++b) {
      c.blocks.count += in_block[b] > 0;
      c.blocks.are_full &=
          in_block[b] == 0 || in_block[b] == rows * std::min<Index>(w, view_.cols - b * w);
    }
  }
  return c;
}

template <class H, class W>
Occupancy::Counts Occupancy::count(H h, W w) const {
  return positions_.is_listed ? count_list(h, w) : count_bits(h, w);
}

const Occupancy::Counts& Occupancy::counts() const {
  if (!counts_) counts_ = count(UsualBlock(), UsualBlock());
  return *counts_;
}

Occupancy::Blocks Occupancy::blocks(Index h, Index w) const {
  if (h == UsualBlock() && w == UsualBlock()) return counts().blocks;
  return count(h, w).blocks;
}

}  // namespace sten
