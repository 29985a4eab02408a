// SPDX-License-Identifier: Apache-2.0
// The patterns of n:m:g as compile-time constants, equal to those of libsten/core/layout/nmg_patterns.h.
#pragma once
#include <cstdint>
#include <utility>

#include "kernels/device.h"

namespace sten::kernels {

// C(m, n), 0 <= n <= m.
constexpr int nmg_pattern_count(int n, int m) {
  int count = 1;
  for (int i = 1; i <= n; ++i) count = count * (m - n + i) / i;
  return count;
}

// Row i of pattern p. The list of n:m is the list of n:m-1, followed by that of n-1:m-1 with m-1
// appended. Except in the outermost list, each of the two is reversed by its own rule, as the code
// states.
constexpr int nmg_pattern_row(int n, int m, int p, int i, bool transposed = false) {
  if (n == m) return i;
  const int without = nmg_pattern_count(n, m - 1);
  if (p < without) return nmg_pattern_row(n, m - 1, transposed ? without - 1 - p : p, i, true);
  return i == n - 1 ? m - 1 : nmg_pattern_row(n - 1, m - 1, p - without, i, !transposed);
}

namespace nmg_rows_detail {
template <class F, int... i>
STEN_DEVICE void each(F&& f, std::integer_sequence<int, i...>) {
  (f(std::integral_constant<int, i>()), ...);
}
}  // namespace nmg_rows_detail

// Calls f(0), f(1), ... f(n - 1) with compile-time constants.
template <int n, class F>
STEN_DEVICE void each_constant(F&& f) {
  nmg_rows_detail::each(f, std::make_integer_sequence<int, n>());
}

}  // namespace sten::kernels
