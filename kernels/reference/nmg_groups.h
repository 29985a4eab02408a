// SPDX-License-Identifier: Apache-2.0
// Common parts of the exact fits of all tables: scratch, strips by pattern, prices and integer
// scales.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/device.h"
#include "kernels/nmg_exact.h"

namespace sten::kernels {

// Divides scratch into arrays that start at cache lines; with nullptr it only counts the bytes.
class NmgCarver {
 public:
  explicit NmgCarver(std::byte* scratch) : scratch_(scratch) {}

  template <class T>
  T* take(std::int64_t n) {
    const std::size_t at = used_;
    used_ += (static_cast<std::size_t>(n) * sizeof(T) + 63) / 64 * 64;
    return scratch_ ? reinterpret_cast<T*>(scratch_ + at) : nullptr;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* scratch_;
  std::size_t used_ = 0;
};

// Maximum number of stored scores of a chunk. Larger chunks recompute the scores of a strip each
// time.
inline constexpr std::int64_t most_stored_scores = std::int64_t{1} << 22;

inline bool nmg_stores_scores(const NmgFormat& f, std::int64_t cols) {
  return cols <= most_stored_scores / f.count;
}

// The strips of each pattern in ascending order. Strips with the pattern `count` belong to none.
struct NmgGroups {
  std::uint16_t* strips;  // the strips of pattern p start at strips[first[p]]
  std::int32_t* first;    // [count]
  std::int32_t* size;     // [count]
  std::int64_t count, g;

  NmgGroups(const NmgFormat& f, NmgCarver& carve)
      : strips(carve.take<std::uint16_t>(2 * f.strips())),
        first(carve.take<std::int32_t>(f.count)),
        size(carve.take<std::int32_t>(f.count)),
        count(f.count),
        g(f.g) {}

  // Builds the lists from the first `cols` strips. of_pattern [count]: number of strips per
  // pattern.
  void build(const std::uint16_t* pattern_of, std::int64_t cols, const std::int32_t* of_pattern) {
    std::int32_t at = 0;
    for (std::int64_t p = 0; p < count; ++p) {
      first[p] = at;
      size[p] = 0;
      at += std::max(of_pattern[p], static_cast<std::int32_t>(g));
    }
    for (std::int64_t s = 0; s < cols; ++s)
      if (const std::uint16_t p = pattern_of[s]; p < count)
        strips[first[p] + size[p]++] = static_cast<std::uint16_t>(s);
  }
  const std::uint16_t* of(std::int64_t p) const { return strips + first[p]; }

  void move(std::int64_t from, std::int64_t to, std::uint16_t s, std::uint16_t* pattern_of) {
    std::uint16_t* a = strips + first[from];
    std::int32_t i = 0;
    while (a[i] != s) ++i;
    for (--size[from]; i < size[from]; ++i) a[i] = a[i + 1];
    std::uint16_t* b = strips + first[to];
    for (i = size[to]++; i > 0 && b[i - 1] > s; --i) b[i] = b[i - 1];
    b[i] = s;
    pattern_of[s] = static_cast<std::uint16_t>(to);
  }

  // Assigns the strips without a pattern, including all from `cols` on, to patterns with room.
  void fill_up(std::uint16_t* pattern_of, std::int64_t cols) {
    std::int64_t p = 0;
    for (std::int64_t s = 0; s < count * g; ++s) {
      if (s < cols && pattern_of[s] < count) continue;
      while (size[p] == g) ++p;
      ++size[p];
      pattern_of[s] = static_cast<std::uint16_t>(p);
    }
  }
};

// Number of strips that exceed g in their patterns.
inline std::int64_t nmg_overflow(const std::int32_t* of_pattern, std::int64_t count,
                                 std::int64_t g) {
  std::int64_t sum = 0;
  for (std::int64_t p = 0; p < count; ++p) sum += std::max<std::int64_t>(0, of_pattern[p] - g);
  return sum;
}

inline constexpr int nmg_score_bits = 27;       // of 32, so that lengths of paths do not overflow
inline constexpr int nmg_wide_score_bits = 59;  // of 64
template <class T>
inline constexpr T nmg_most_score = T{1} << (sizeof(T) == 8 ? nmg_wide_score_bits : nmg_score_bits);

// The next price of a pattern. Strips subtract prices from scores, and the shortest paths start
// from prices; prices under which strips spread evenly leave few paths. A price rises if more than
// g strips want the pattern, in proportion to `gap`, the mean difference between the best and the
// second best score of a strip. If strips of zeros fill the rest, prices have to start from 0,
// because nobody pays the price of a pattern with room.
template <class T>
STEN_HOST_DEVICE T nmg_next_price(T price, std::int64_t gap, std::int64_t of_pattern,
                                  std::int64_t g) {
  constexpr std::int64_t most = nmg_most_score<T>;
  const std::int64_t excess = std::min<std::int64_t>(of_pattern, 2 * g) - g;
  const std::int64_t step =
      sizeof(T) == 8 ? gap / (10 * g) * 7 * excess : gap * 7 * excess / (10 * g);
  return static_cast<T>(std::clamp<std::int64_t>(price + step, -most, most));
}
template <class T>
void nmg_next_prices(const T* price, std::int64_t gap, const std::int32_t* of_pattern,
                     std::int64_t count, std::int64_t g, T* next) {
  for (std::int64_t p = 0; p < count; ++p)
    next[p] = nmg_next_price(price[p], gap, of_pattern[p], g);
}
inline constexpr int nmg_price_steps = 4;
// Minimum number of strips for prices: fewer strips are moved faster than priced.
inline constexpr std::int64_t nmg_min_priced = 16;

// Bits that a sum of n terms needs in addition to those of one term.
STEN_HOST_DEVICE inline int nmg_sum_bits(std::int64_t n) {
  int bits = 0;
  while (std::int64_t{1} << bits < n) ++bits;
  return bits;
}

// The scale that converts the magnitudes of a chunk to 32-bit integers.
struct NmgRange {
  bool is_wide;  // 32 bits do not suffice: the least is < 8 units, or the scale is no float
  float scale;   // a power of 2

  // greatest and least of all nonzero magnitudes. greatest can be 0, infinity or NaN.
  STEN_HOST_DEVICE static NmgRange of(float greatest, float least, std::int64_t n) {
    const int bits = nmg_score_bits - nmg_sum_bits(n);
    const auto exponent = [](float x) {
      return static_cast<int>(std::bit_cast<std::uint32_t>(x) >> 23 & 0xff);
    };
    const int e = exponent(greatest), low = exponent(least);
    if (greatest == 0) return {false, 1};
    if (e == 255 || e < bits || low == 0 || e - low > bits - 4) return {true, 0};
    // 2^(e - 127) <= greatest < 2^(e - 126) becomes less than 2^bits.
    return {false, std::bit_cast<float>(static_cast<std::uint32_t>(bits + 126 - e + 127) << 23)};
  }
};

// The scale for 64-bit integers. An infinity counts more than a path of finite values.
class NmgWideScale {
 public:
  // greatest: of the finite magnitudes.
  STEN_HOST_DEVICE NmgWideScale(double greatest, bool has_infinity, std::int64_t n,
                                std::int64_t count) {
    const int path_bits = nmg_sum_bits(n * count) + 1;
    const int bits = nmg_wide_score_bits - nmg_sum_bits(n) - (has_infinity ? path_bits : 0);
    above_all_ = std::int64_t{1} << (bits + (has_infinity ? path_bits : 0));
    // In two steps, because 2^by can overflow.
    const int by = greatest > 0 ? bits - std::ilogb(greatest) - 1 : 0;
    first_ = std::ldexp(1.0, by / 2);
    second_ = std::ldexp(1.0, by - by / 2);
  }
  STEN_HOST_DEVICE std::int64_t operator()(double v) const {
    if (v == 0) return 0;
    if (std::isinf(v)) return above_all_;
    const std::int64_t units = std::llrint(v * first_ * second_);
    return units < 1 ? 1 : units;
  }

 private:
  std::int64_t above_all_ = 0;
  double first_ = 1, second_ = 1;
};

}  // namespace sten::kernels
