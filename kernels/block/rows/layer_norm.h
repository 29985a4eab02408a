// SPDX-License-Identifier: Apache-2.0
// Layer normalization of rows (Ba, Kiros and Hinton 2016) and its gradients.
#pragma once
#include "kernels/block/row_functions.h"
#include "kernels/block/rows/columns.h"
#include "kernels/block/rows/fold.h"
#include "kernels/rows.h"

namespace sten::kernels {

STEN_DEVICE inline float normal_of(const RowMoments& s, float x) {
  return (x - s.mean - s.rest) * s.by;
}

// Computes the mean first, so that the variance of values far from 0 keeps its precision.
template <int threads, class Block>
STEN_DEVICE RowMoments moments_of_row(Block& b, const float* x, std::int64_t n, double eps) {
  const auto count = static_cast<double>(n);
  const double mean = sum_of_row<threads>(b, n, [&](std::int64_t i) { return x[i]; }) / count;
  const auto near = static_cast<float>(mean), rest = static_cast<float>(mean - near);
  const double squares = sum_of_row<threads>(b, n, [&](std::int64_t i) {
    const float d = x[i] - near - rest;
    return d * d;
  });
  return {near, rest, static_cast<float>(1 / std::sqrt(squares / count + eps))};
}

template <int size>
struct LayerNormRows {
  static constexpr int threads = size;
  const float* x;
  std::int64_t rows, n;
  const float *gamma, *beta;
  double eps;
  float* y;

  std::int64_t blocks() const { return rows; }
  std::size_t shared_bytes() const { return fold_bytes<size>; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t row) const {
    const float* from = x + row * n;
    float* to = y + row * n;
    const RowMoments s = moments_of_row<size>(b, from, n, eps);
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < n; i += size) to[i] = normal_of(s, from[i]) * gamma[i] + beta[i];
    });
  }
};

// With g = dy * gamma: dx = by * (g - mean(g) - z * mean(g * z)).
template <int size>
struct LayerNormGradRows {
  static constexpr int threads = size;
  const float *dy, *x;
  std::int64_t rows, n;
  const float* gamma;
  double eps;
  float* dx;  // nullptr: not computed
  bool adds;
  RowMoments* moments;  // [rows]; nullptr: not stored

  std::int64_t blocks() const { return rows; }
  std::size_t shared_bytes() const { return fold_bytes<size>; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t row) const {
    const float *from = dy + row * n, *at = x + row * n;
    const RowMoments s = moments_of_row<size>(b, at, n, eps);
    if (moments)
      b.for_each_thread([&](int t) {
        if (t == 0) moments[row] = s;
      });
    if (!dx) return;
    const auto count = static_cast<double>(n);
    auto along = b.template per_thread<double>();
    const double sum = sum_of_threads<size>(b, [&](int t) {
      double sums = 0, products = 0;
      for (std::int64_t i = t; i < n; i += size) {
        const float g = from[i] * gamma[i];
        sums += static_cast<double>(g);
        products += static_cast<double>(g * normal_of(s, at[i]));
      }
      along(t) = products;
      return sums;
    });
    const double product = sum_of_threads<size>(b, [&](int t) { return along(t); });
    const auto mean = static_cast<float>(sum / count), by = static_cast<float>(product / count);
    float* to = dx + row * n;
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < n; i += size)
        to[i] = (adds ? to[i] : 0) + s.by * (from[i] * gamma[i] - mean - normal_of(s, at[i]) * by);
    });
  }
};

// Terms of the gradients of gamma and beta: dy * z and dy.
struct LayerNormTerms {
  const float *dy, *x;
  std::int64_t n;
  const RowMoments* moments;
  STEN_DEVICE ColumnSums operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = row * n + column;
    return {static_cast<double>(dy[i] * normal_of(moments[row], x[i])), static_cast<double>(dy[i])};
  }
};

template <class Grid>
struct LayerNormOn {
  static void layer_norm(const float* x, std::int64_t rows, std::int64_t n, const float* gamma,
                         const float* beta, double eps, float* y, Stream stream) {
    Grid grid(stream);
    with_row_threads(
        n,
        [&]<int threads>(std::integral_constant<int, threads>) {
          grid.launch(LayerNormRows<threads>{x, rows, n, gamma, beta, eps, y});
        },
        longest_norm_of_warp);
  }
  static void layer_norm_grad(const float* dy, const float* x, std::int64_t rows, std::int64_t n,
                              const float* gamma, double eps, float* dx, bool adds, float* dgamma,
                              float* dbeta, Stream stream) {
    Grid grid(stream);
    RowMoments* moments = nullptr;
    if (dgamma || dbeta) moments = grid.template scratch<RowMoments>(rows);
    with_row_threads(
        n,
        [&]<int threads>(std::integral_constant<int, threads>) {
          grid.launch(LayerNormGradRows<threads>{dy, x, rows, n, gamma, eps, dx, adds, moments});
        },
        longest_norm_of_warp);
    if (moments)
      sum_columns(grid, rows, n, LayerNormTerms{dy, x, n, moments}, StoreColumns{dgamma, dbeta});
  }
};

}  // namespace sten::kernels
