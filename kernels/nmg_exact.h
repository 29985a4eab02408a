// The assignment of n:m:g patterns to the strips of a chunk that keeps the most magnitude.
//
// It is a transportation problem: strips are goods, patterns take g each, and a strip under a
// pattern is worth the sum of the n magnitudes that stay. With only `count` patterns, successive
// shortest paths over the patterns solve it soon (Ahuja, Magnanti and Orlin, Network Flows, 9.7).
//
// Magnitudes are counted in units of an integer: of 2^-27 of the greatest possible score of the
// chunk, or finer, in 32 bits; where values are too far apart for that (by more than 2^21, for n up
// to 4), in 64 bits, of which 59 count. So sums have no rounding, and every table takes the same
// decisions:
//   - among patterns that are worth the same to a strip, the lowest is its first choice;
//   - among overfull and underfull patterns at the same distance, the lowest is served first, by
//     the path that the lowest and nearest patterns make;
//   - among the strips of a pattern that lose the same by moving, the lowest moves;
//   - strips of zeros, padding among them, fill up what is left, both in ascending order.
// A magnitude that is not 0 counts at least one unit. NaN counts as infinity, and an infinity more
// than all finite numbers of a chunk.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/device.h"
#include "kernels/isa.h"

namespace sten::kernels {

// Pattern p is pattern p - 1 with the row `in` instead of `out`.
struct NmgSwap {
  std::uint16_t out, in;
};

struct NmgFormat {
  const std::uint16_t* patterns;  // [count, n], ascending rows
  const NmgSwap* swaps;           // [count], the first one unused
  std::int64_t n, m, count, g;

  STEN_HOST_DEVICE std::int64_t strips() const { return count * g; }
};

// What a chunk holds besides padding: x[r * row_stride + s], 0 <= r < rows <= m and
// 0 <= s < cols <= strips.
template <class T>
struct NmgStrips {
  const T* x;
  std::int64_t row_stride, rows, cols;
};

// D of the shortest paths is [count, count].
inline constexpr std::int64_t most_exact_patterns = 1024;

struct NmgExactTable {
  // Bytes of scratch, aligned to 64, that fits of up to rows x cols values need, one at a time;
  // their content does not matter.
  std::size_t (*scratch)(const NmgFormat& format, std::int64_t rows, std::int64_t cols);
  // pattern_of[strips]: for each strip its pattern, each pattern g times. count is at most
  // most_exact_patterns, n * count and strips below 2^26 and 2^16 + 1.
  void (*fit_f32)(const NmgFormat& format, const NmgStrips<float>& in, std::byte* scratch,
                  std::uint16_t* pattern_of);
  void (*fit_f64)(const NmgFormat& format, const NmgStrips<double>& in, std::byte* scratch,
                  std::uint16_t* pattern_of);
};

// The table of active_isa().
const NmgExactTable& nmg_exact();
// nullptr unless has_isa(isa).
const NmgExactTable* nmg_exact_for(Isa isa);

}  // namespace sten::kernels
