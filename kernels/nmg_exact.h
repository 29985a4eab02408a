// SPDX-License-Identifier: Apache-2.0
// The matching of n:m:g: assigns patterns to the strips of a chunk so that the most magnitude is
// kept.
//
// This is a transportation problem: each pattern takes g strips, and a strip under a pattern scores
// the sum of the n magnitudes that are kept. As there are only `count` patterns, successive
// shortest paths over the patterns are fast (Ahuja, Magnanti and Orlin, Network Flows, 9.7).
//
// Magnitudes are rounded to integers in units of 2^-27 of the greatest possible score of the chunk,
// or finer, in 32 bits. If values differ too much for that (by more than 2^21, for n up to 4), they
// use 59 bits of 64. Sums are therefore exact, and every table takes the same decisions:
//   - among patterns with the same score for a strip, the lowest is the strip's first choice;
//   - among overfull and underfull patterns at the same distance, the lowest is served first, by
//     the path through the lowest and nearest patterns;
//   - among the strips of a pattern that lose the same by moving, the lowest moves;
//   - strips of zeros, including padding, fill the remaining slots, in ascending order.
// A nonzero magnitude counts at least one unit. NaN counts as infinity, and an infinity counts more
// than all finite values of a chunk.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/device.h"
#include "kernels/isa.h"

namespace sten::kernels {

// Pattern p is pattern p - 1 with row `in` instead of row `out`.
struct NmgSwap {
  std::uint16_t out, in;
};

struct NmgFormat {
  const std::uint16_t* patterns;  // [count, n], ascending rows
  const NmgSwap* swaps;           // [count], the first is unused
  std::int64_t n, m, count, g;

  STEN_HOST_DEVICE std::int64_t strips() const { return count * g; }
};

// The elements of a chunk without padding: x[r * row_stride + s], 0 <= r < rows <= m and 0 <= s <
// cols <= strips.
template <class T>
struct NmgStrips {
  const T* x;
  std::int64_t row_stride, rows, cols;
};

// Limits the distance matrix of the shortest paths, which is [count, count].
inline constexpr std::int64_t most_exact_patterns = 1024;

struct NmgExactTable {
  // Bytes of scratch, aligned to 64, for fits of up to rows x cols values, one at a time. Its
  // content does not matter.
  std::size_t (*scratch)(const NmgFormat& format, std::int64_t rows, std::int64_t cols);
  // Writes pattern_of[strips], where each pattern occurs g times. Limits: count <=
  // most_exact_patterns, n * count < 2^26, strips < 2^16 + 1.
  void (*fit_f32)(const NmgFormat& format, const NmgStrips<float>& in, std::byte* scratch,
                  std::uint16_t* pattern_of);
  void (*fit_f64)(const NmgFormat& format, const NmgStrips<double>& in, std::byte* scratch,
                  std::uint16_t* pattern_of);
};

// The table for active_isa().
const NmgExactTable& nmg_exact();
// nullptr unless has_isa(isa).
const NmgExactTable* nmg_exact_for(Isa isa);

}  // namespace sten::kernels
