// SPDX-License-Identifier: Apache-2.0
// Loss kernels over a grid, as on a GPU.
#include "tests/kernels/row_tables.h"

using namespace sten;
using namespace sten::testing;
using kernels::RowFunctions;

TEST_CASE("block kernels compute cross entropy, KL divergence and their gradients") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(4);
    using Size = std::pair<Index, Index>;
    for (const Size& size : {Size{1, 1}, {7, 5}, {40, 37}, {3, 1500}, {0, 3}}) {
      const Index rows = size.first, n = size.second;
      CAPTURE(rows);
      CAPTURE(n);
      const RowFloats x = some_row_floats(dice, rows * n, 2),
                      w = some_row_floats(dice, rows * n, 2);
      std::vector<std::int64_t> targets(rows);
      Index counted = 0;
      for (Index r = 0; r < rows; ++r) {
        targets[r] = r % 4 == 3 ? -100 : dice.below(n);
        counted += targets[r] != -100;
      }
      std::uint32_t bad = 0;
      const kernels::RowClasses c{targets.data(), rows, n, -100, &bad};
      const double smoothing = 0.1, temperature = 2;
      const float dy = 0.75;
      // The formulas in double.
      const auto log_softmax = [&](const RowFloats& of, Index r, double by) {
        std::vector<double> y(n);
        double most = -1e300, sum = 0;
        for (Index i = 0; i < n; ++i) most = std::max(most, y[i] = by * of[r * n + i]);
        for (const double v : y) sum += std::exp(v - most);
        for (double& v : y) v -= most + std::log(sum);
        return y;
      };
      double entropy = 0, divergence = 0;
      RowFloats dx(rows * n), dq(rows * n), dp(rows * n);
      for (Index r = 0; r < rows; ++r) {
        if (targets[r] == -100) continue;
        const auto l = log_softmax(x, r, 1), q = log_softmax(x, r, 1 / temperature),
                   p = log_softmax(w, r, 1 / temperature);
        double mean = 0, apart = 0;
        for (Index i = 0; i < n; ++i) {
          mean -= l[i] / static_cast<double>(n);
          apart += std::exp(p[i]) * (p[i] - q[i]);
        }
        entropy += (1 - smoothing) * -l[targets[r]] + smoothing * mean;
        divergence += temperature * temperature * apart;
        for (Index i = 0; i < n; ++i) {
          const double wanted =
              (i == targets[r] ? 1 - smoothing : 0) + smoothing / static_cast<double>(n);
          const auto by = dy / static_cast<double>(counted);
          dx[r * n + i] = static_cast<float>(by * (std::exp(l[i]) - wanted));
          dq[r * n + i] = static_cast<float>(by * temperature * (std::exp(q[i]) - std::exp(p[i])));
          dp[r * n + i] =
              static_cast<float>(by * temperature * std::exp(p[i]) * (p[i] - q[i] - apart));
        }
      }
      const double by = counted ? 1 / static_cast<double>(counted) : 0;
      float loss = 7;
      RowFloats one(rows * n), two(rows * n);
      f.cross_entropy(x.data(), c, smoothing, &loss, nullptr);
      CHECK(loss == doctest::Approx(entropy * by).epsilon(1e-6));
      f.cross_entropy_grad(&dy, x.data(), c, smoothing, one.data(), nullptr);
      check_rows_near(one, dx);
      f.kl_divergence(x.data(), w.data(), c, temperature, &loss, nullptr);
      CHECK(loss == doctest::Approx(divergence * by).epsilon(1e-6));
      f.kl_divergence_grad(&dy, x.data(), w.data(), c, temperature, one.data(), two.data(),
                           nullptr);
      check_rows_near(one, dq);
      check_rows_near(two, dp);
      CHECK(bad == 0);
    }
  });
}

TEST_CASE("cross entropy counts targets out of range and makes the loss and their rows NaN") {
  with_row_tables([](const RowFunctions& f) {
    const RowFloats x{1, 2, 3, 1, 2, 3};
    const std::vector<std::int64_t> targets{3, 1};
    std::uint32_t bad = 0;
    const kernels::RowClasses c{targets.data(), 2, 3, -100, &bad};
    float loss = 0;
    const float dy = 1;
    RowFloats dx(6);
    f.cross_entropy(x.data(), c, 0, &loss, nullptr);
    CHECK(std::isnan(loss));
    f.cross_entropy_grad(&dy, x.data(), c, 0, dx.data(), nullptr);
    CHECK(std::isnan(dx[2]));
    CHECK(!std::isnan(dx[3]));
    CHECK(bad == 2);
  });
}

TEST_CASE("block kernels compute the mean squared error and its gradients") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(5);
    for (const Index n : {1, 5, 5000}) {
      const RowFloats x = some_row_floats(dice, n), y = some_row_floats(dice, n);
      double sum = 0;
      for (Index i = 0; i < n; ++i) sum += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
      float loss = 0;
      f.mse(x.data(), y.data(), n, &loss, nullptr);
      CHECK(loss == doctest::Approx(sum / static_cast<double>(n)).epsilon(1e-6));
      const float dy = 3;
      RowFloats dx(n), d_y(n), want(n);
      f.mse_grad(&dy, x.data(), y.data(), n, dx.data(), d_y.data(), nullptr);
      for (Index i = 0; i < n; ++i)
        want[i] = static_cast<float>(6 / static_cast<double>(n)) * (x[i] - y[i]);
      check_rows_near(dx, want);
      for (Index i = 0; i < n; ++i) CHECK(d_y[i] == -dx[i]);
    }
  });
}
