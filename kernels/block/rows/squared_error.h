// SPDX-License-Identifier: Apache-2.0
// Mean squared error and its gradients.
#pragma once
#include "kernels/block/row_functions.h"
#include "kernels/block/rows/fold.h"

namespace sten::kernels {

// sums[block] = squared differences of a segment of elements.
struct SquaredDifferences {
  static constexpr int threads = 256, at_once = 16 * threads;
  const float *x, *y;
  std::int64_t n;
  double* sums;

  std::int64_t blocks() const { return (n + at_once - 1) / at_once; }
  std::size_t shared_bytes() const { return fold_bytes<threads>; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    const std::int64_t first = block * at_once, left = n - first;
    const double sum = sum_of_row<threads>(b, left < at_once ? left : at_once, [&](std::int64_t i) {
      const double d = static_cast<double>(x[first + i]) - static_cast<double>(y[first + i]);
      return d * d;
    });
    b.for_each_thread([&](int t) {
      if (t == 0) sums[block] = sum;
    });
  }
};
// *mean = sum of sums[count] / n.
struct MeanOfSums {
  static constexpr int threads = 1024;
  const double* sums;
  std::int64_t count, n;
  float* mean;

  std::int64_t blocks() const { return 1; }
  std::size_t shared_bytes() const { return threads * sizeof(double); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t) const {
    const double sum = sum_of_row<threads>(
        b, count, [&](std::int64_t i) { return sums[i]; }, threads_for(count, threads));
    b.for_each_thread([&](int t) {
      if (t == 0) *mean = static_cast<float>(sum / static_cast<double>(n));
    });
  }
};
struct SquaredDifferencesGrad {
  static constexpr int threads = 256, at_once = 4 * threads;
  const float *dy, *x, *y;
  std::int64_t n;
  float *dx, *d_y;  // nullptr: not computed

  std::int64_t blocks() const { return (n + at_once - 1) / at_once; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    b.for_each_thread([&](int t) {
      const auto by = static_cast<float>(2 * static_cast<double>(*dy) / static_cast<double>(n));
      for (std::int64_t i = block * at_once + t; i < (block + 1) * at_once && i < n; i += threads) {
        const float d = by * (x[i] - y[i]);
        if (dx) dx[i] = d;
        if (d_y) d_y[i] = -d;
      }
    });
  }
};

template <class Grid>
struct SquaredErrorOn {
  static void mse(const float* x, const float* y, std::int64_t n, float* loss, Stream stream) {
    Grid grid(stream);
    SquaredDifferences of{x, y, n, nullptr};
    of.sums = grid.template scratch<double>(of.blocks());
    grid.launch(of);
    grid.launch(MeanOfSums{of.sums, of.blocks(), n, loss});
  }
  static void mse_grad(const float* dy, const float* x, const float* y, std::int64_t n, float* dx,
                       float* d_y, Stream stream) {
    Grid(stream).launch(SquaredDifferencesGrad{dy, x, y, n, dx, d_y});
  }
};

}  // namespace sten::kernels
