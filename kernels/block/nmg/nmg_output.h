// SPDX-License-Identifier: Apache-2.0
// Writes the parts of n:m:g of a chunk whose strips have their patterns, by a block of threads.
#pragma once
#include "kernels/block/functions.h"
#include "kernels/block/nmg/nmg_chunk.h"
#include "kernels/block/nmg/nmg_matching.h"

namespace sten::kernels {

// to[i] = from[j] for elements of `width` bytes.
STEN_DEVICE inline void copy_element(void* to, std::int64_t i, const void* from, std::int64_t j,
                                     int width) {
  if (width == 4)
    static_cast<std::uint32_t*>(to)[i] = static_cast<const std::uint32_t*>(from)[j];
  else if (width == 2)
    static_cast<std::uint16_t*>(to)[i] = static_cast<const std::uint16_t*>(from)[j];
  else if (width == 1)
    static_cast<std::uint8_t*>(to)[i] = static_cast<const std::uint8_t*>(from)[j];
  else
    static_cast<std::uint64_t*>(to)[i] = static_cast<const std::uint64_t*>(from)[j];
}
STEN_DEVICE inline void clear_element(void* to, std::int64_t i, int width) {
  constexpr std::uint64_t zero = 0;
  copy_element(to, i, &zero, 0, width);
}

template <class Block>
class NmgOutputBlock {
  template <class U>
  using Shared = typename Block::template Shared<U>;
  using Strip = std::uint16_t;

 public:
  STEN_HOST_DEVICE NmgOutputBlock(Block& b, const NmgFormat& f)
      : b_(b), f_(f), matching_(b, f), strips_(b.template shared<Strip>(f.strips())) {}

  // Writes unit u. Between phases.
  STEN_DEVICE void write(const NmgBlockChunk& in, const Shared<Strip>& pattern_of, std::int64_t u,
                         const NmgParts& to) {
    if (to.pattern_of)
      b_.for_each_thread([&](int t) {
        each_of(b_, t, f_.strips(),
                [&](std::int64_t s) { to.pattern_of[u * f_.strips() + s] = pattern_of[s]; });
      });
    if (to.bits) set_bits(in, pattern_of, to.bits);
    if (!to.values && !to.index) return;
    // With rows of padding, strips can need other patterns than the fit gave them.
    if (in.rows < f_.m)
      write_slots(in, pattern_of, matching_.place(pattern_of, in.rows, in.cols), u, to);
    else
      write_slots(in, pattern_of, pattern_of, u, to);
  }

 private:
  STEN_DEVICE std::uint16_t row(std::int64_t p, std::int64_t i) const {
    return f_.patterns[p * f_.n + i];
  }
  STEN_DEVICE bool has(std::int64_t p, std::int64_t r) const {
    for (std::int64_t i = 0; i < f_.n; ++i)
      if (row(p, i) == r) return true;
    return false;
  }

  STEN_DEVICE void set_bits(const NmgBlockChunk& in, const Shared<Strip>& pattern_of,
                            std::uint8_t* bits) {
    b_.for_each_thread([&](int t) {
      if (in.col_stride != 1) {  // bit by bit, combined per word
        each_of(b_, t, in.cols, [&](std::int64_t s) {
          std::int64_t word = 0;
          std::uint32_t v = 0;
          for (std::int64_t i = 0; i < f_.n; ++i) {
            const std::int64_t r = row(pattern_of[s], i);
            if (r >= in.rows) break;
            const std::int64_t at = in.at(r, s);
            if (at >> 5 != word && v != 0) {
              b_.or_bits(bits, word, v);
              v = 0;
            }
            word = at >> 5;
            v |= std::uint32_t{1} << (at & 31);
          }
          if (v != 0) b_.or_bits(bits, word, v);
        });
        return;
      }
      // Words of a row; all but the first and the last belong to this chunk only.
      for (std::int64_t r = 0; r < in.rows; ++r) {
        const std::int64_t begin = in.at(r, 0), end = begin + in.cols;
        each_of(b_, t, ((end + 31) >> 5) - (begin >> 5), [&](std::int64_t w) {
          const std::int64_t word = (begin >> 5) + w, first = word * 32;
          std::uint32_t v = 0;
          for (int i = 0; i < 32; ++i)
            if (first + i >= begin && first + i < end && has(pattern_of[first + i - begin], r))
              v |= std::uint32_t{1} << i;
          if (v != 0) b_.or_bits(bits, word, v);
        });
      }
    });
  }

  // pattern_of: patterns whose rows are kept; placed: patterns in whose groups the strips are
  // stored.
  template <class Matched>
  STEN_DEVICE void write_slots(const NmgBlockChunk& in, const Shared<Strip>& pattern_of,
                               const Matched& matched, std::int64_t u, const NmgParts& to) {
    b_.for_each_thread([&](int t) {
      each_of(b_, t, f_.count, [&](std::int64_t p) {
        std::int64_t slot = p * f_.g;
        for (std::int64_t s = 0; s < f_.strips(); ++s)
          if (matched[s] == p) strips_[slot++] = static_cast<Strip>(s);
      });
    });
    const std::int64_t first = u * f_.strips();
    const bool narrow = f_.strips() <= 256, is_whole = in.rows == f_.m;
    const int width = width_of(in.kind);
    b_.for_each_thread([&](int t) {
      if (to.index)
        each_of(b_, t, f_.strips(), [&](std::int64_t slot) {
          if (narrow)
            static_cast<std::uint8_t*>(to.index)[first + slot] =
                static_cast<std::uint8_t>(strips_[slot]);
          else
            static_cast<std::uint16_t*>(to.index)[first + slot] = strips_[slot];
        });
      if (!to.values) return;
      each_pair(b_, t, f_.count, f_.g * f_.n, [&](std::int64_t p, std::int64_t i) {
        const std::int64_t slot = p * f_.g + i / f_.n, r = row(p, i % f_.n), s = strips_[slot];
        const std::int64_t at = first * f_.n + p * f_.g * f_.n + i;
        if (s < in.cols && r < in.rows && (is_whole || has(pattern_of[s], r)))
          copy_element(to.values, at, in.x, in.at(r, s), width);
        else
          clear_element(to.values, at, width);
      });
    });
  }

  Block& b_;
  const NmgFormat& f_;
  NmgMatchingBlock<Block> matching_;
  Shared<Strip> strips_;
};

}  // namespace sten::kernels
