// SPDX-License-Identifier: Apache-2.0
// Losses of rows: cross entropy with a class, and KL divergence of softened logits. Each row has
// one loss, and one block sums the losses.
#pragma once
#include "kernels/block/row_functions.h"
#include "kernels/block/rows/fold.h"

namespace sten::kernels {

STEN_DEVICE inline bool is_class(const RowClasses& c, std::int64_t target) {
  return target >= 0 && target < c.n;
}

// *loss = mean of the losses of rows that count, 0 if no row counts. With `by`, *by = *dy / number
// of rows that count instead.
struct MeanOfRows {
  static constexpr int threads = 1024;
  RowClasses c;
  const double* losses;
  float* loss;
  const float* dy;
  double* by;

  std::int64_t blocks() const { return 1; }
  std::size_t shared_bytes() const { return threads * sizeof(double); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t) const {
    const int used = threads_for(c.rows, threads);
    const double counted = sum_of_row<threads>(
        b, c.rows, [&](std::int64_t r) { return c.targets[r] == c.ignore ? 0 : 1; }, used);
    if (by) {
      b.for_each_thread([&](int t) {
        if (t == 0) *by = counted == 0 ? 0 : static_cast<double>(*dy) / counted;
      });
      return;
    }
    const double sum = sum_of_row<threads>(
        b, c.rows, [&](std::int64_t r) { return losses[r]; }, used);
    b.for_each_thread([&](int t) {
      if (t == 0) *loss = counted == 0 ? 0 : static_cast<float>(sum / counted);
    });
  }
};

// losses[row] = row(b, row number, target); 0 for rows that do not count.
template <int size, class Row>
struct LossOfRows {
  static constexpr int threads = size;
  RowClasses c;
  Row row;
  double* losses;

  std::int64_t blocks() const { return c.rows; }
  std::size_t shared_bytes() const { return fold_bytes<size>; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t r) const {
    const std::int64_t target = c.targets[r];
    const bool counts = target != c.ignore, is_bad = counts && !is_class(c, target);
    double loss = is_bad ? std::numeric_limits<double>::quiet_NaN() : 0;
    if (counts && !is_bad) loss = row.template loss<size>(b, c.n, r, target);
    b.for_each_thread([&](int t) {
      if (t != 0) return;
      losses[r] = loss;
      if (is_bad) note_bad(b, c.bad);
    });
  }
};
template <int size, class Row>
struct LossGradOfRows {
  static constexpr int threads = size;
  RowClasses c;
  Row row;
  const double* by;
  float *first, *second;  // nullptr: not computed

  std::int64_t blocks() const { return c.rows; }
  std::size_t shared_bytes() const { return fold_bytes<size>; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t r) const {
    const std::int64_t target = c.targets[r];
    float *one = first ? first + r * c.n : nullptr, *two = second ? second + r * c.n : nullptr;
    if (target != c.ignore && is_class(c, target)) {
      row.template gradient<size>(b, c.n, r, target, *by, one, two);
      return;
    }
    const bool is_bad = target != c.ignore;
    const float v = is_bad ? std::numeric_limits<float>::quiet_NaN() : 0;
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < c.n; i += size) {
        if (one) one[i] = v;
        if (two) two[i] = v;
      }
      if (t == 0 && is_bad) note_bad(b, c.bad);
    });
  }
};

struct CrossEntropyRow {
  const float* logits;
  double smoothing;

  template <int threads, class Block>
  STEN_DEVICE double loss(Block& b, std::int64_t n, std::int64_t r, std::int64_t target) const {
    const float* x = logits + r * n;
    const ExpSum e = exp_sum_of_row<threads>(b, n, [&](std::int64_t i) { return x[i]; });
    const double log_sum = e.log(), most = static_cast<double>(e.most);
    const double own = log_sum + (most - static_cast<double>(x[target]));
    if (smoothing == 0) return own;
    const double sum = sum_of_row<threads>(b, n, [&](std::int64_t i) { return x[i]; });
    return (1 - smoothing) * own + smoothing * (log_sum + (most - sum / static_cast<double>(n)));
  }
  // softmax(x) minus the target distribution.
  template <int threads, class Block>
  STEN_DEVICE void gradient(Block& b, std::int64_t n, std::int64_t r, std::int64_t target,
                            double by, float* dx, float*) const {
    const float* x = logits + r * n;
    const ExpSum e = exp_sum_of_row<threads>(b, n, [&](std::int64_t i) { return x[i]; });
    const double everywhere = smoothing / static_cast<double>(n), share = 1 / e.sum;
    const auto factor = static_cast<float>(share * by), less = static_cast<float>(everywhere * by);
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < n; i += threads) {
        const float p = std::exp(x[i] - e.most);
        dx[i] = i == target
                    ? static_cast<float>(
                          (static_cast<double>(p) * share - (1 - smoothing) - everywhere) * by)
                    : factor * p - less;
      }
    });
  }
};

// p: softmax of the wanted logits over the temperature; q: softmax of the logits x over the
// temperature.
struct DivergenceRow {
  const float *logits, *wanted;
  double temperature;

  struct Softened {
    const float* x;
    float scale, most, by;
    double log_sum;
    STEN_DEVICE float at(std::int64_t i) const { return scale * x[i]; }
    STEN_DEVICE float p(std::int64_t i) const { return by * std::exp(at(i) - most); }
  };
  template <int threads, class Block>
  STEN_DEVICE Softened soften(Block& b, const float* x, std::int64_t n) const {
    const auto scale = static_cast<float>(1 / temperature);
    const ExpSum e = exp_sum_of_row<threads>(b, n, [&](std::int64_t i) { return scale * x[i]; });
    return {x, scale, e.most, static_cast<float>(1 / e.sum), e.log() + static_cast<double>(e.most)};
  }
  // Sum over i of p_i (x_i - y_i), where x and y are the inputs of the two softmaxes.
  template <int threads, class Block>
  STEN_DEVICE double apart(Block& b, std::int64_t n, const Softened& p, const Softened& q) const {
    return sum_of_row<threads>(b, n, [&](std::int64_t i) {
      return static_cast<double>(p.p(i)) *
             (static_cast<double>(p.at(i)) - static_cast<double>(q.at(i)));
    });
  }

  template <int threads, class Block>
  STEN_DEVICE double loss(Block& b, std::int64_t n, std::int64_t r, std::int64_t) const {
    const Softened q = soften<threads>(b, logits + r * n, n);
    const Softened p = soften<threads>(b, wanted + r * n, n);
    return temperature * temperature * (apart<threads>(b, n, p, q) - p.log_sum + q.log_sum);
  }
  // Gradient of the logits: q - p. Gradient of the wanted logits: p * (log p - log q - its mean).
  template <int threads, class Block>
  STEN_DEVICE void gradient(Block& b, std::int64_t n, std::int64_t r, std::int64_t, double by,
                            float* dx, float* dwanted) const {
    const Softened q = soften<threads>(b, logits + r * n, n);
    const Softened p = soften<threads>(b, wanted + r * n, n);
    const double mean = dwanted ? apart<threads>(b, n, p, q) : 0, factor = by * temperature;
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < n; i += threads) {
        const auto of_p = static_cast<double>(p.p(i));
        if (dx) dx[i] = static_cast<float>(factor * (static_cast<double>(q.p(i)) - of_p));
        if (dwanted)
          dwanted[i] = static_cast<float>(
              factor * of_p * (static_cast<double>(p.at(i)) - static_cast<double>(q.at(i)) - mean));
      }
    });
  }
};

template <class Grid>
struct LossesOn {
  // Few rows, and a long vocabulary per row.
  static constexpr int long_row_threads = 1024;

  template <class Row>
  static void mean(const RowClasses& c, const Row& row, float* loss, Stream stream) {
    Grid grid(stream);
    auto* losses = grid.template scratch<double>(c.rows);
    with_row_threads<long_row_threads>(c.n, [&]<int threads>(std::integral_constant<int, threads>) {
      grid.launch(LossOfRows<threads, Row>{c, row, losses});
    });
    grid.launch(MeanOfRows{c, losses, loss, nullptr, nullptr});
  }
  template <class Row>
  static void gradient(const float* dy, const RowClasses& c, const Row& row, float* first,
                       float* second, Stream stream) {
    Grid grid(stream);
    auto* by = grid.template scratch<double>(1);
    grid.launch(MeanOfRows{c, nullptr, nullptr, dy, by});
    with_row_threads<long_row_threads>(c.n, [&]<int threads>(std::integral_constant<int, threads>) {
      grid.launch(LossGradOfRows<threads, Row>{c, row, by, first, second});
    });
  }

  static void cross_entropy(const float* x, const RowClasses& c, double smoothing, float* loss,
                            Stream stream) {
    mean(c, CrossEntropyRow{x, smoothing}, loss, stream);
  }
  static void cross_entropy_grad(const float* dy, const float* x, const RowClasses& c,
                                 double smoothing, float* dx, Stream stream) {
    gradient(dy, c, CrossEntropyRow{x, smoothing}, dx, nullptr, stream);
  }
  static void kl_divergence(const float* x, const float* wanted, const RowClasses& c,
                            double temperature, float* loss, Stream stream) {
    mean(c, DivergenceRow{x, wanted, temperature}, loss, stream);
  }
  static void kl_divergence_grad(const float* dy, const float* x, const float* wanted,
                                 const RowClasses& c, double temperature, float* dx, float* dwanted,
                                 Stream stream) {
    gradient(dy, c, DivergenceRow{x, wanted, temperature}, dx, dwanted, stream);
  }
};

}  // namespace sten::kernels
