// SPDX-License-Identifier: Apache-2.0
// Softmax of rows and its gradient. Along the last axis, a warp or a block handles a row; along
// other axes a thread does, next to the threads of neighbouring rows.
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/row_functions.h"
#include "kernels/block/rows/fold.h"

namespace sten::kernels {

// Applied to an element after the sum of its row is known.
struct SoftmaxOf {
  float most, by, log_sum;
  bool is_log;

  STEN_DEVICE SoftmaxOf(const ExpSum& e, bool log)
      : most(e.most),
        by(static_cast<float>(1 / e.sum)),
        log_sum(log ? static_cast<float>(e.log()) : 0),
        is_log(log) {}
  STEN_DEVICE float operator()(float x) const {
    return is_log ? x - most - log_sum : by * std::exp(x - most);
  }
};

// dx = y * (dy - sum(y * dy)); for the logarithm, dy - e^y * sum(dy).
struct SoftmaxGrad {
  bool is_log;
  STEN_DEVICE double term(float dy, float y) const {
    return static_cast<double>(dy) * (is_log ? 1 : static_cast<double>(y));
  }
  STEN_DEVICE float operator()(float sum, float dy, float y) const {
    return is_log ? dy - std::exp(y) * sum : y * (dy - sum);
  }
};

template <int size>
struct SoftmaxRows {
  static constexpr int threads = size;
  const float* x;
  std::int64_t rows, n;
  bool is_log;
  float* y;

  std::int64_t blocks() const { return rows; }
  std::size_t shared_bytes() const { return fold_bytes<size>; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t row) const {
    const float* from = x + row * n;
    float* to = y + row * n;
    const SoftmaxOf of(exp_sum_of_row<size>(b, n, [&](std::int64_t i) { return from[i]; }), is_log);
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < n; i += size) to[i] = of(from[i]);
    });
  }
};

template <int size>
struct SoftmaxGradRows {
  static constexpr int threads = size;
  const float *dy, *y;
  std::int64_t rows, n;
  SoftmaxGrad grad;
  float* dx;

  std::int64_t blocks() const { return rows; }
  std::size_t shared_bytes() const { return fold_bytes<size>; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t row) const {
    const float *from = dy + row * n, *at = y + row * n;
    float* to = dx + row * n;
    const auto sum = static_cast<float>(
        sum_of_row<size>(b, n, [&](std::int64_t i) { return grad.term(from[i], at[i]); }));
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < n; i += size) to[i] = grad(sum, from[i], at[i]);
    });
  }
};

// Calls f(first element, number of elements, their distance) for a row.
template <class F>
struct StridedRow {
  StridedRows lines;
  F f;
  STEN_DEVICE void operator()(std::int64_t line) const {
    const std::int64_t outer = line / lines.inner;
    f(outer * lines.length * lines.inner + (line - outer * lines.inner), lines.length, lines.inner);
  }
};
struct SoftmaxRow {
  const float* x;
  bool is_log;
  float* y;
  STEN_DEVICE void operator()(std::int64_t first, std::int64_t n, std::int64_t step) const {
    ExpSum sum;
    for (std::int64_t i = 0; i < n; ++i) sum.add(x[first + i * step]);
    if (sum.most == ExpSum::none) sum.sum = std::numeric_limits<double>::quiet_NaN();
    const SoftmaxOf of(sum, is_log);
    for (std::int64_t i = 0; i < n; ++i) y[first + i * step] = of(x[first + i * step]);
  }
};
struct SoftmaxGradRow {
  const float *dy, *y;
  SoftmaxGrad grad;
  float* dx;
  STEN_DEVICE void operator()(std::int64_t first, std::int64_t n, std::int64_t step) const {
    double all = 0;
    for (std::int64_t i = first, k = 0; k < n; i += step, ++k) all += grad.term(dy[i], y[i]);
    const auto sum = static_cast<float>(all);
    for (std::int64_t i = first, k = 0; k < n; i += step, ++k) dx[i] = grad(sum, dy[i], y[i]);
  }
};

template <class Grid>
struct SoftmaxOn {
  static void softmax(const float* x, StridedRows lines, bool is_log, float* y, Stream stream) {
    if (lines.length == 0) return;
    Grid grid(stream);
    if (lines.inner != 1)
      launch_threads(grid, lines.outer * lines.inner,
                     StridedRow<SoftmaxRow>{lines, {x, is_log, y}});
    else
      with_row_threads(lines.length, [&]<int threads>(std::integral_constant<int, threads>) {
        grid.launch(SoftmaxRows<threads>{x, lines.outer, lines.length, is_log, y});
      });
  }
  static void softmax_grad(const float* dy, const float* y, StridedRows lines, bool is_log,
                           float* dx, Stream stream) {
    if (lines.length == 0) return;
    Grid grid(stream);
    if (lines.inner != 1)
      launch_threads(grid, lines.outer * lines.inner,
                     StridedRow<SoftmaxGradRow>{lines, {dy, y, {is_log}, dx}});
    else
      with_row_threads(lines.length, [&]<int threads>(std::integral_constant<int, threads>) {
        grid.launch(SoftmaxGradRows<threads>{dy, y, lines.outer, lines.length, {is_log}, dx});
      });
  }
};

}  // namespace sten::kernels
