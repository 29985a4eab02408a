// SPDX-License-Identifier: Apache-2.0
// Writes the parts of n:m:g of a chunk with a small pattern count, by the warp that fitted it
// (nmg_warp.h).
#pragma once
#include "kernels/block/functions.h"
#include "kernels/block/nmg/nmg_chunk.h"
#include "kernels/block/nmg/nmg_warp.h"

namespace sten::kernels {

// Stores an element of any type but f32 from its bits.
STEN_DEVICE inline void store_bits(void* x, FloatKind kind, std::int64_t i, std::uint32_t bits) {
  if (width_of(kind) == 2)
    static_cast<std::uint16_t*>(x)[i] = static_cast<std::uint16_t>(bits);
  else
    static_cast<std::uint8_t*>(x)[i] = static_cast<std::uint8_t>(bits);
}

// For at most C patterns and 32 K strips, and for n:m = N:M unless N is 0.
template <int C, int K, class Block, int N = 0, int M = 0>
class NmgSmallPatternCountOutput {
  template <class U>
  using Shared = typename Block::template Shared<U>;

 public:
  static constexpr int width = 32 * K;
  Shared<std::uint32_t> raw;  // the chunk's elements, [m, width]

  STEN_HOST_DEVICE NmgSmallPatternCountOutput(Block& b, const NmgSmallPatternCount& f)
      : raw(b.template shared<std::uint32_t>(f.m * width)),
        b_(b),
        f_(f),
        values_(b.template shared<std::uint32_t>(f.strips() * f.n)),
        pattern_of_(b.template shared<std::uint8_t>(width)),
        index_(b.template shared<std::uint8_t>(f.strips())) {}

  // Writes unit u, which starts at `offset` of the matrix. Between phases.
  template <class Lanes>
  STEN_DEVICE void write(Lanes& lanes, std::int64_t u, std::int64_t offset,
                         const BlockMatrix& matrix, FloatKind kind, const NmgParts& to) const {
    b_.for_each_thread([&](int t) {
      for (int k = 0; k < K; ++k)
        pattern_of_[k * 32 + t] = static_cast<std::uint8_t>(lanes(t).pattern[k]);
    });
    if (to.pattern_of)
      b_.for_each_thread([&](int t) {
        each_of(b_, t, f_.strips(),
                [&](std::int64_t s) { to.pattern_of[u * f_.strips() + s] = pattern_of_[s]; });
      });
    if (to.bits) set_bits(lanes, offset, matrix, to.bits);
    if (to.values || to.index) write_slots(u, kind, to);
  }

 private:
  STEN_HOST_DEVICE int n() const { return N > 0 ? N : f_.n; }
  STEN_HOST_DEVICE int m() const { return N > 0 ? M : f_.m; }

  template <class Lanes>
  STEN_DEVICE void set_bits(Lanes& lanes, std::int64_t offset, const BlockMatrix& matrix,
                            std::uint8_t* bits) const {
    const auto rows_of = [&](int t, int k) {
      return k * 32 + t < f_.strips() ? f_.rows_of(lanes(t).pattern[k]) : 0;
    };
    // Sets 32 bits from bit `at` on.
    const auto set = [&](std::int64_t at, std::uint32_t v) {
      const int by = static_cast<int>(at & 31);
      if (const std::uint32_t low = v << by; low != 0) b_.or_bits(bits, at >> 5, low);
      if (const std::uint32_t high = by ? v >> (32 - by) : 0; high != 0)
        b_.or_bits(bits, (at >> 5) + 1, high);
    };
    if (matrix.col_stride == 1) {
      // Strips are neighbours in memory: thread r * K + k has the word of row r for strips 32 k to
      // 32 k + 31.
      auto word = b_.template per_thread<std::uint32_t>();
      for (int r = 0; r < m(); ++r)
        for (int k = 0; k < K; ++k) {
          const std::uint32_t v = b_.votes([&](int t) { return rows_of(t, k) >> r & 1; });
          b_.for_each_thread([&](int t) {
            if (t == r * K + k) word(t) = v;
          });
        }
      b_.for_each_thread([&](int t) {
        if (t < m() * K) set(offset + t / K * matrix.row_stride + t % K * 32, word(t));
      });
      return;
    }
    b_.for_each_thread([&](int t) {
      for (int k = 0; k < K; ++k) {
        const std::int64_t at = offset + (k * 32 + t) * matrix.col_stride;
        const std::uint32_t rows = rows_of(t, k);
        if (matrix.row_stride == 1)
          set(at, rows);
        else
          STEN_UNROLL(1) for (int r = 0; r < f_.m; ++r) {
            if (rows >> r & 1) set(at + r * matrix.row_stride, 1);
          }
      }
    });
  }

  // Sorts the strips by pattern in shared memory, then writes them in order.
  STEN_DEVICE void write_slots(std::int64_t u, FloatKind kind, const NmgParts& to) const {
    // Thread t has strips t * K + k here, so that the strips before them belong to the threads
    // before t.
    const auto pattern = [&](int t, int k) {
      const int s = t * K + k;
      return s < f_.strips() ? int{pattern_of_[s]} : C;
    };
    // Counts of four patterns, each at most 128, in a word.
    const auto one = [](int p, int first) {
      const int i = p - first;
      return i >= 0 && i < 4 ? std::uint32_t{1} << 8 * i : 0;
    };
    const auto in_words = [&](int t, int first) {
      std::uint32_t word = 0;
      for (int k = 0; k < K; ++k) word += one(pattern(t, k), first);
      return word;
    };
    auto low = b_.template per_thread<std::uint32_t>();
    auto high = b_.template per_thread<std::uint32_t>();
    b_.scan([&](int t) { return in_words(t, 0); }, [&](int t, std::uint32_t v) { low(t) = v; });
    if constexpr (C > 4)
      b_.scan([&](int t) { return in_words(t, 4); }, [&](int t, std::uint32_t v) { high(t) = v; });
    b_.for_each_thread([&](int t) {
      std::uint32_t before_low = low(t), before_high = C > 4 ? high(t) : 0;
      for (int k = 0; k < K; ++k) {
        const int p = pattern(t, k), s = t * K + k;
        if (p >= C) continue;
        const std::uint32_t word = C > 4 && p >= 4 ? before_high : before_low;
        const int slot = p * f_.g + static_cast<int>(word >> 8 * (p & 3) & 0xff);
        before_low += one(p, 0);
        before_high += one(p, 4);
        index_[slot] = static_cast<std::uint8_t>(s);
        std::uint32_t rows = f_.rows_of(p);
        STEN_UNROLL(1) for (int i = slot * n(); rows != 0; ++i, rows &= rows - 1) {
          values_[i] = std::uint32_t{raw[lowest_bit(rows) * width + s]};
        }
      }
    });
    const std::int64_t first = u * f_.strips();
    b_.for_each_thread([&](int t) {
      if (to.index)
        for (int k = 0; k < K; ++k)
          if (const int i = k * 32 + t; i < f_.strips())
            static_cast<std::uint8_t*>(to.index)[first + i] = index_[i];
      if (!to.values) return;
      const std::int64_t at = first * n();
      const int end = f_.strips() * n();
      if (kind == FloatKind::f32) {
        STEN_UNROLL(1) for (int begin = t; begin < end; begin += width) {
          for (int k = 0; k < K; ++k)
            if (const int i = begin + k * 32; i < end)
              static_cast<std::uint32_t*>(to.values)[at + i] = values_[i];
        }
      } else {
        STEN_UNROLL(1) for (int i = t; i < end; i += 32) {
          store_bits(to.values, kind, at + i, values_[i]);
        }
      }
    });
  }

  Block& b_;
  const NmgSmallPatternCount& f_;
  Shared<std::uint32_t> values_;  // [strips, n]
  Shared<std::uint8_t> pattern_of_, index_;
};

}  // namespace sten::kernels
