// SPDX-License-Identifier: Apache-2.0
// RowFunctions over grids, and expected results.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/block/rows/rows.h"
#include "kernels/families.h"
#include "kernels/rows.h"
#include "tests/support/checked_device.h"
#include "tests/support/tensors.h"

namespace sten::testing {

using RowFloats = std::vector<float>;

// Calls f with the serial table and with a checked one (random order of threads, race detection).
template <class F>
void with_row_tables(F&& f) {
  static const kernels::RowFunctions plain = kernels::row_functions<kernels::SerialGrid>(),
                                     careful = kernels::row_functions<CheckedDevice>();
  for (const bool checked : {false, true}) {
    CAPTURE(checked);
    CheckedDevice::reset(11);
    f(checked ? careful : plain);
    CHECK(CheckedDevice::reports() == std::vector<std::string>{});
  }
}

inline RowFloats some_row_floats(Dice& dice, Index n, double size = 1) {
  RowFloats x(n);
  for (float& v : x) v = static_cast<float>(size * dice.normal());
  return x;
}

// Checks that values differ by at most 1e-6 of the largest magnitude, and NaN only by NaN.
inline void check_rows_near(const RowFloats& got, const RowFloats& want) {
  REQUIRE(got.size() == want.size());
  double most = 0;
  for (const float v : want)
    if (std::isfinite(v)) most = std::max(most, std::abs(double{v}));
  bool is_near = true;
  for (std::size_t i = 0; i < got.size(); ++i)
    is_near &= std::isfinite(want[i]) ? std::abs(double{got[i]} - want[i]) <= 1e-6 * most + 1e-12
                                      : std::isnan(got[i]) && std::isnan(want[i]);
  CHECK(is_near);
}

inline const kernels::RowsTable& plain_rows() { return *kernels::rows_reference(); }

// Softmax of contiguous rows as the CPU's operator computes it.
inline RowFloats softmax_of_rows(const RowFloats& x, Index n, bool is_log) {
  RowFloats y(x.size());
  for (std::size_t at = 0; at < x.size(); at += n) {
    plain_rows().softmax(x.data() + at, n, 1, y.data() + at);
    if (!is_log) continue;
    const float most = plain_rows().greatest(x.data() + at, n);
    const auto log_sum =
        static_cast<float>(std::log(plain_rows().exp_sum(x.data() + at, n, most, nullptr)));
    for (Index i = 0; i < n; ++i) y[at + i] = x[at + i] - most - log_sum;
  }
  return y;
}
inline RowFloats softmax_grad_of_rows(const RowFloats& dy, const RowFloats& y, Index n,
                                      bool is_log) {
  RowFloats dx(y.size());
  for (std::size_t at = 0; at < y.size(); at += n) {
    plain_rows().softmax_grad(dy.data() + at, y.data() + at, n, 1, dx.data() + at);
    if (!is_log) continue;
    double all = 0;
    for (Index i = 0; i < n; ++i) all += dy[at + i];
    const auto sum = static_cast<float>(all);
    for (Index i = 0; i < n; ++i) dx[at + i] = dy[at + i] - std::exp(y[at + i]) * sum;
  }
  return dx;
}
// Transposes [outer, length, inner] to [outer, inner, length], or back.
inline RowFloats with_transposed_rows(const RowFloats& x, kernels::StridedRows l, bool back) {
  RowFloats y(x.size());
  for (Index o = 0; o < l.outer; ++o)
    for (Index k = 0; k < l.length; ++k)
      for (Index i = 0; i < l.inner; ++i) {
        const Index a = (o * l.length + k) * l.inner + i, b = (o * l.inner + i) * l.length + k;
        back ? y[a] = x[b] : y[b] = x[a];
      }
  return y;
}

}  // namespace sten::testing
