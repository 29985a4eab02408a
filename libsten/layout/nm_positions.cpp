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

}  // namespace sten
