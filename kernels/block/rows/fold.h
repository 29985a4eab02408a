// SPDX-License-Identifier: Apache-2.0
// Reductions of a row by the threads of a block. Short rows use one warp and no shared memory.
#pragma once
#include <limits>
#include <type_traits>

#include "kernels/block/block.h"

namespace sten::kernels {

inline constexpr std::int64_t longest_row_of_warp = 1024;
inline constexpr std::int64_t longest_norm_of_warp = 256;  // norms read a row in several passes
// Calls f(std::integral_constant<int, threads>) with the number of threads for a row of n elements;
// `many` for long rows.
template <int many = 256, class F>
void with_row_threads(std::int64_t n, F&& f, std::int64_t longest = longest_row_of_warp) {
  if (n <= longest)
    f(std::integral_constant<int, 32>{});
  else
    f(std::integral_constant<int, many>{});
}

template <int threads>
inline constexpr std::size_t fold_bytes = threads == 32 ? 0 : threads * sizeof(double);

// Counts an invalid index; bad = nullptr: not counted.
template <class Block>
STEN_DEVICE void note_bad(Block& b, std::uint32_t* bad) {
  if (bad) b.add_global(bad, 1u);
}

// Reduces v(t), an int32_t, float or double, by `combine` over all threads, or over the first
// `used` if it is not 0 and there is more than one warp.
template <int threads, class Block, class V, class Combine>
STEN_DEVICE auto fold_threads(Block& b, V&& v, Combine&& combine, int used = 0) {
  if constexpr (threads == 32) {
    return b.fold(v, combine);
  } else {
    using T = std::remove_cvref_t<decltype(v(0))>;
    const auto mark = b.mark();
    const T all = reduce<T>(b, b.template shared<T>(threads), v, combine, used);
    b.reset(mark);
    return all;
  }
}
template <int threads, class Block, class V>
STEN_DEVICE float most_of_threads(Block& b, V&& v) {
  return fold_threads<threads>(b, v, [](float x, float y) { return y > x ? y : x; });
}
template <int threads, class Block, class V>
STEN_DEVICE auto sum_of_threads(Block& b, V&& v, int used = 0) {
  return fold_threads<threads>(
      b, v, [](auto x, auto y) { return x + y; }, used);
}
// Sum of term(i) as double for 0 <= i < n. For short rows, used = threads_for(n, threads) is faster
// and gives the same result.
template <int threads, class Block, class Term>
STEN_DEVICE double sum_of_row(Block& b, std::int64_t n, Term&& term, int used = 0) {
  const auto of_thread = [&](int t) {
    double sum = 0;
    for (std::int64_t i = t; i < n; i += threads) sum += static_cast<double>(term(i));
    return sum;
  };
  return sum_of_threads<threads>(b, of_thread, used);
}

// The maximum of a row, ignoring NaN, and the sum of e^(x - most), in one pass over the row. The
// sum is NaN if an element is NaN or +inf, or if all are -inf.
struct ExpSum {
  static constexpr float none = -std::numeric_limits<float>::infinity();
  float most = none;
  double sum = 0;

  STEN_DEVICE void add(float x) {
    if (x > most) {
      // x - x is NaN for +inf.
      sum = sum * static_cast<double>(std::exp(most - x)) + static_cast<double>(1 + (x - x));
      most = x;
    } else if (x != none) {
      sum += static_cast<double>(std::exp(x - most));
    }
  }
  // The sum relative to `all`, the maximum of the whole row.
  STEN_DEVICE double beside(float all) const {
    return sum == 0 ? 0 : sum * static_cast<double>(std::exp(most - all));
  }
  STEN_DEVICE double log() const { return std::log(sum); }
};

// ExpSum of x(i) for 0 <= i < n, n > 0.
template <int threads, class Block, class X>
STEN_DEVICE ExpSum exp_sum_of_row(Block& b, std::int64_t n, X&& x) {
  auto of = b.template per_thread<ExpSum>();
  ExpSum all;
  all.most = most_of_threads<threads>(b, [&](int t) {
    ExpSum own;
    for (std::int64_t i = t; i < n; i += threads) own.add(x(i));
    of(t) = own;
    return own.most;
  });
  all.sum = sum_of_threads<threads>(b, [&](int t) { return of(t).beside(all.most); });
  if (all.most == ExpSum::none) all.sum = std::numeric_limits<double>::quiet_NaN();
  return all;
}

}  // namespace sten::kernels
