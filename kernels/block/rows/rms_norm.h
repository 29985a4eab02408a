// SPDX-License-Identifier: Apache-2.0
// Root mean square normalization of rows (Zhang and Sennrich 2019) and its gradients.
#pragma once
#include "kernels/block/row_functions.h"
#include "kernels/block/rows/columns.h"
#include "kernels/block/rows/fold.h"

namespace sten::kernels {

STEN_DEVICE inline float factor_of(const RmsNorm& norm, std::int64_t i) {
  return norm.has_offset ? 1 + norm.weight[i] : norm.weight[i];
}
// 1 / sqrt(mean(x^2) + eps)
template <int threads, class Block>
STEN_DEVICE double scale_of_row(Block& b, const RmsNorm& norm, const float* x) {
  const double squares = sum_of_row<threads>(b, norm.n, [&](std::int64_t i) {
    return static_cast<double>(x[i]) * static_cast<double>(x[i]);
  });
  return 1 / std::sqrt(squares / static_cast<double>(norm.n) + norm.eps);
}

template <int size>
struct RmsNormRows {
  static constexpr int threads = size;
  RmsNorm norm;
  const float* x;
  float* y;

  std::int64_t blocks() const { return norm.rows; }
  std::size_t shared_bytes() const { return fold_bytes<size>; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t row) const {
    const float* from = x + row * norm.n;
    float* to = y + row * norm.n;
    const auto by = static_cast<float>(scale_of_row<size>(b, norm, from));
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < norm.n; i += size) to[i] = from[i] * by * factor_of(norm, i);
    });
  }
};

// With z = x * by and g = dy * factor: dx = by * (g - z * mean(g * z)).
template <int size>
struct RmsNormGradRows {
  static constexpr int threads = size;
  RmsNorm norm;
  const float *dy, *x;
  float* dx;  // nullptr: not computed
  bool adds;
  double* scales;  // [rows]; nullptr: not stored

  std::int64_t blocks() const { return norm.rows; }
  std::size_t shared_bytes() const { return fold_bytes<size>; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t row) const {
    const float *from = dy + row * norm.n, *at = x + row * norm.n;
    const double by = scale_of_row<size>(b, norm, at);
    if (scales)
      b.for_each_thread([&](int t) {
        if (t == 0) scales[row] = by;
      });
    if (!dx) return;
    const double product = sum_of_row<size>(b, norm.n, [&](std::int64_t i) {
      return static_cast<double>(from[i]) * static_cast<double>(factor_of(norm, i)) *
             static_cast<double>(at[i]);
    });
    const double mean = product * by / static_cast<double>(norm.n);
    const auto scale = static_cast<float>(by), share = static_cast<float>(mean * by);
    float* to = dx + row * norm.n;
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < norm.n; i += size)
        to[i] = (adds ? to[i] : 0) + scale * (from[i] * factor_of(norm, i) - at[i] * share);
    });
  }
};

// Terms of the gradient of the weight.
struct RmsNormTerms {
  const float *dy, *x;
  std::int64_t n;
  const double* scales;
  STEN_DEVICE ColumnSums operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = row * n + column;
    return {scales[row] * (static_cast<double>(dy[i]) * static_cast<double>(x[i])), 0};
  }
};

template <class Grid>
struct RmsNormOn {
  static void rms_norm(const float* x, const RmsNorm& norm, float* y, Stream stream) {
    Grid grid(stream);
    with_row_threads(
        norm.n,
        [&]<int threads>(std::integral_constant<int, threads>) {
          grid.launch(RmsNormRows<threads>{norm, x, y});
        },
        longest_norm_of_warp);
  }
  static void rms_norm_grad(const float* dy, const float* x, const RmsNorm& norm, float* dx,
                            bool adds, float* dweight, Stream stream) {
    Grid grid(stream);
    double* scales = dweight ? grid.template scratch<double>(norm.rows) : nullptr;
    with_row_threads(
        norm.n,
        [&]<int threads>(std::integral_constant<int, threads>) {
          grid.launch(RmsNormGradRows<threads>{norm, dy, x, dx, adds, scales});
        },
        longest_norm_of_warp);
    if (scales)
      sum_columns(grid, norm.rows, norm.n, RmsNormTerms{dy, x, norm.n, scales},
                  StoreColumns{dweight, nullptr});
  }
};

}  // namespace sten::kernels
