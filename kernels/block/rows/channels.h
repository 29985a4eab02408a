// SPDX-License-Identifier: Apache-2.0
// Batch normalization: norms of channels, the columns of a matrix, over its rows (Ioffe and Szegedy
// 2015).
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/row_functions.h"
#include "kernels/block/rows/columns.h"
#include "kernels/block/rows/each_of_rows.h"

namespace sten::kernels {

// Differences to the first row: channels far from 0 keep their precision, and a constant channel
// has variance 0.
struct MomentTerms {
  const float* x;
  std::int64_t n;
  STEN_DEVICE ColumnSums operator()(std::int64_t row, std::int64_t column) const {
    const float d = x[row * n + column] - x[column];
    return {static_cast<double>(d), static_cast<double>(d * d)};
  }
};
struct StoreMoments {
  const float* x;
  std::int64_t rows, n;
  double* moments;
  STEN_DEVICE void operator()(std::int64_t column, const ColumnSums& sum) const {
    const auto count = static_cast<double>(rows);
    const double mean = sum.first / count, variance = sum.second / count - mean * mean;
    moments[column] = rows == 0 ? 0 : static_cast<double>(x[column]) + mean;
    moments[n + column] = variance > 0 ? variance : 0;
  }
};

STEN_DEVICE inline double mean_of(const ChannelNorm& c, std::int64_t i) {
  return c.moments ? c.moments[i] : static_cast<double>(c.mean[i]);
}
STEN_DEVICE inline double spread_of(const ChannelNorm& c, std::int64_t i) {
  return (c.moments ? c.moments[c.n + i] : static_cast<double>(c.variance[i])) + c.eps;
}

struct FloatMoments {
  const double* moments;
  std::int64_t n;
  double factor;
  float* to;
  STEN_DEVICE void operator()(std::int64_t i) const {
    to[i] = static_cast<float>(moments[i]);
    to[n + i] = static_cast<float>(moments[n + i] * factor);
  }
};

// y = a * x + b for each channel, or max(y, 0).
struct ChannelAffine {
  float *a, *b;
  bool relu;
  STEN_DEVICE float at(float x, std::int64_t c) const { return a[c] * x + b[c]; }
  // The gradient of a * x + b, through the ReLU if there is one.
  STEN_DEVICE float through(float dy, float x, std::int64_t c) const {
    return relu && !(at(x, c) > 0) ? 0 : dy;
  }
};
struct MakeAffine {
  ChannelNorm c;
  ChannelAffine to;
  STEN_DEVICE void operator()(std::int64_t i) const {
    const double a = static_cast<double>(c.gamma[i]) / std::sqrt(spread_of(c, i));
    to.a[i] = static_cast<float>(a);
    to.b[i] = static_cast<float>(static_cast<double>(c.beta[i]) - mean_of(c, i) * a);
  }
};
struct ApplyAffine {
  ChannelAffine line;
  const float* x;
  float* y;
  STEN_DEVICE void operator()(std::int64_t i, std::int64_t, std::int64_t column) const {
    const float v = line.at(x[i], column);
    y[i] = line.relu && v <= 0 ? 0 : v;
  }
};

struct AffineGradTerms {
  ChannelNorm c;
  ChannelAffine line;
  const float *dy, *x;
  STEN_DEVICE ColumnSums operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = row * c.n + column;
    const float g = line.through(dy[i], x[i], column);
    const auto mean = static_cast<float>(mean_of(c, column));
    return {static_cast<double>(g), static_cast<double>(g * (x[i] - mean))};
  }
};
// Gradients of a and b, and the coefficients of dx = a * g + by * x + more through mean and
// variance.
struct AffineGrads {
  ChannelNorm c;
  ChannelAffine line;
  std::int64_t rows;
  ChannelGrads to;
  float *by, *more;  // nullptr: mean and variance are given
  STEN_DEVICE void operator()(std::int64_t i, const ColumnSums& sum) const {
    const double a = static_cast<double>(line.a[i]), spread = spread_of(c, i);
    if (to.dgamma) to.dgamma[i] = static_cast<float>(sum.second / std::sqrt(spread));
    if (to.dbeta) to.dbeta[i] = static_cast<float>(sum.first);
    if (to.dmean) to.dmean[i] = static_cast<float>(-a * sum.first);
    if (to.dvariance) to.dvariance[i] = static_cast<float>(-0.5 * a * sum.second / spread);
    if (!by) return;
    const auto count = static_cast<double>(rows),
               mean = static_cast<double>(static_cast<float>(mean_of(c, i)));
    const double slope = -a * sum.second / count / spread;
    by[i] = static_cast<float>(slope);
    more[i] = static_cast<float>(-a * sum.first / count - slope * mean);
  }
};
struct ApplyAffineGrad {
  ChannelAffine line;
  const float *dy, *x, *by, *more;
  bool adds;
  float* dx;
  STEN_DEVICE void operator()(std::int64_t i, std::int64_t, std::int64_t column) const {
    float v = line.a[column] * line.through(dy[i], x[i], column);
    if (by) v += by[column] * x[i] + more[column];
    dx[i] = adds ? dx[i] + v : v;
  }
};

template <class Grid>
struct ChannelsOn {
  static ChannelAffine line(Grid& grid, const ChannelNorm& c) {
    const ChannelAffine to{grid.template scratch<float>(c.n), grid.template scratch<float>(c.n),
                           c.relu};
    launch_threads(grid, c.n, MakeAffine{c, to});
    return to;
  }

  static void channel_moments(const float* x, std::int64_t rows, std::int64_t n, double* moments,
                              Stream stream) {
    Grid grid(stream);
    sum_columns(grid, rows, n, MomentTerms{x, n}, StoreMoments{x, rows, n, moments});
  }
  static void float_moments(const double* moments, std::int64_t n, double factor, float* to,
                            Stream stream) {
    launch_threads(Grid(stream), n, FloatMoments{moments, n, factor, to});
  }
  static void channel_norm(const float* x, std::int64_t rows, const ChannelNorm& c, float* y,
                           Stream stream) {
    Grid grid(stream);
    grid.launch(EachOfRows<ApplyAffine>{rows, c.n, {line(grid, c), x, y}});
  }
  static void channel_norm_grad(const float* dy, const float* x, std::int64_t rows,
                                const ChannelNorm& c, const ChannelGrads& to, Stream stream) {
    Grid grid(stream);
    const ChannelAffine own = line(grid, c);
    float *by = nullptr, *more = nullptr;
    if (c.moments) {
      by = grid.template scratch<float>(c.n);
      more = grid.template scratch<float>(c.n);
    }
    if (by || to.dgamma || to.dbeta || to.dmean || to.dvariance)
      sum_columns(grid, rows, c.n, AffineGradTerms{c, own, dy, x},
                  AffineGrads{c, own, rows, to, by, more});
    if (to.dx)
      grid.launch(EachOfRows<ApplyAffineGrad>{rows, c.n, {own, dy, x, by, more, to.adds, to.dx}});
  }
};

}  // namespace sten::kernels
