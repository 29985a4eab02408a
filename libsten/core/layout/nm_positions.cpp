// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nm_positions.h"

#include "libsten/core/base/error.h"

#include <algorithm>

namespace sten {

void check_n_of_m(Index n, Index m, Index axis) {
  if (n < 1 || m < 1 || n > m) fail_usage("n={},m={}: expected 1 <= n <= m", n, m);
  if (axis != 0 && axis != 1) fail_usage("axis must be 0 or 1, got {}", axis);
}
NmPositions::NmPositions(Index n, Index m)
    : n_(n), m_(m), width_(std::bit_width(static_cast<std::uint64_t>(m - 1))), group_(8 / m) {
  const Index bits = n * width_;
  if (bits >= 1 && bits <= 8) {
    read_group_ = std::min(8 / bits, 64 / m);
    slots_.resize(std::size_t{1} << read_group_ * bits);
    for (std::size_t code = 0; code < slots_.size(); ++code)
      for (Index i = 0; i < read_group_ * n; ++i)
        slots_[code] |= std::uint64_t{1}
                        << (i / n * m + (code >> i * width_ & ((1 << width_) - 1))) % 64;
  }
  if (group_ == 0) return;
  codes_.resize(std::size_t{1} << group_ * m);
  for (std::size_t bits = 0; bits < codes_.size(); ++bits) {
    int at = 0;
    // Stops at 24 bits: more bits are no blocks of n.
    for (Index i = 0; i < group_ * m && at < 24; ++i)
      if (bits >> i & 1) {
        codes_[bits] |= static_cast<std::uint32_t>(i % m) << at;
        at += width_;
      }
  }
}

void NmPositions::write(const std::uint64_t* slots, Index blocks, Index first,
                        std::uint8_t* line) const {
  const Index block_bits = n_ * width_;
  BitWriter out(line, first * block_bits);
  Index b = 0;
  if (group_) {
    const Index at_once = group_ * m_, bits = group_ * block_bits, groups = 64 / at_once;
    const std::uint64_t mask = codes_.size() - 1;
    if (64 % at_once == 0 && groups * bits <= 64)
      for (; b + groups * group_ <= blocks; b += groups * group_) {
        const std::uint64_t word = slots[b * m_ / 64];
        std::uint64_t codes = 0;
        for (Index g = 0; g < groups; ++g)
          codes |= std::uint64_t{codes_[word >> g * at_once & mask]} << g * bits;
        out.add(codes, groups * bits);
      }
    for (; b + group_ <= blocks; b += group_)
      out.add(codes_[bits_from(slots, b * m_, at_once)], bits);
    const Index rest = blocks - b;
    out.add(codes_[bits_from(slots, b * m_, rest * m_)], rest * block_bits);
  } else {
    for (; b < blocks; ++b)
      for (std::uint64_t bits = bits_from(slots, b * m_, m_); bits; bits &= bits - 1)
        out.add(static_cast<std::uint64_t>(std::countr_zero(bits)), width_);
  }
  out.finish();
}

void NmPositions::read(const std::uint8_t* line, Index bytes, Index first, Index blocks,
                       std::uint64_t* slots) const {
  const Index block_bits = n_ * width_;
  std::fill_n(slots, ceil_div(blocks * m_, 64), 0);
  BitReader in(line, first * block_bits, line + bytes);
  Index b = 0;
  if (read_group_)
    for (; b + read_group_ <= blocks; b += read_group_)
      add_bits(slots, b * m_, slots_[in.next(read_group_ * block_bits)]);
  for (; b < blocks; ++b) {
    std::uint64_t block = 0;
    for (Index i = 0; i < n_; ++i) block |= std::uint64_t{1} << in.next(width_) % 64;
    add_bits(slots, b * m_, block);
  }
}

}  // namespace sten
