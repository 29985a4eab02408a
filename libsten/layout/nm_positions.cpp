#include "libsten/layout/nm_positions.h"

#include <cstring>

namespace sten {
namespace {

// Appends numbers of few bits, least significant first.
class BitWriter {
 public:
  BitWriter(std::uint8_t* bytes, Index bit) : at_(bytes + bit / 8), used_(bit % 8) {
    if (used_) word_ = *at_ & ((1u << used_) - 1);
  }
  // v < 2^bits, bits <= 32
  void add(std::uint64_t v, Index bits) {
    word_ |= v << used_;
    used_ += bits;
    if (used_ < 32) return;
    for (int i = 0; i < 4; ++i) at_[i] = static_cast<std::uint8_t>(word_ >> 8 * i);
    at_ += 4;
    word_ >>= 32;
    used_ -= 32;
  }
  void finish() {
    for (; used_ > 0; used_ -= 8, word_ >>= 8) *at_++ = static_cast<std::uint8_t>(word_);
  }

 private:
  std::uint8_t* at_;
  Index used_;
  std::uint64_t word_ = 0;
};

}  // namespace

NmPositions::NmPositions(Index n, Index m)
    : n_(n), m_(m), width_(std::bit_width(static_cast<std::uint64_t>(m - 1))), group_(8 / m) {
  if (group_ == 0) return;
  codes_.resize(std::size_t{1} << group_ * m);
  for (std::size_t bits = 0; bits < codes_.size(); ++bits) {
    int at = 0;
    // 24 bits at most: others are no blocks of n.
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
    for (; b + group_ <= blocks; b += group_)
      out.add(codes_[bits_from(slots, b * m_, group_ * m_)], group_ * block_bits);
    const Index rest = blocks - b;
    out.add(codes_[bits_from(slots, b * m_, rest * m_)], rest * block_bits);
  } else {
    for (; b < blocks; ++b)
      for (std::uint64_t bits = bits_from(slots, b * m_, m_); bits; bits &= bits - 1)
        out.add(static_cast<std::uint64_t>(std::countr_zero(bits)), width_);
  }
  out.finish();
}

}  // namespace sten
