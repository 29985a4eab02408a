// SPDX-License-Identifier: Apache-2.0
// Batch norm and pooling kernels over a grid, as on a GPU.
#include "tests/kernels/row_tables.h"

using namespace sten;
using namespace sten::testing;
using kernels::RowFunctions;

TEST_CASE("block kernels compute batch norms and their gradients") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(8);
    using Size = std::pair<Index, Index>;
    for (const Size& size : {Size{1, 1}, {9, 3}, {150, 40}, {270, 12}, {12, 1100}, {0, 4}})
      for (const bool relu : {false, true}) {
        const Index rows = size.first, n = size.second;
        CAPTURE(rows);
        CAPTURE(n);
        RowFloats x = some_row_floats(dice, rows * n);
        for (float& v : x) v += 1;
        const RowFloats dy = some_row_floats(dice, rows * n), gamma = some_row_floats(dice, n),
                        beta = some_row_floats(dice, n);
        std::vector<double> moments(2 * n, 7);
        f.channel_moments(x.data(), rows, n, moments.data(), nullptr);
        const kernels::ChannelNorm c{n,           1e-5,           relu,    gamma.data(),
                                     beta.data(), moments.data(), nullptr, nullptr};
        RowFloats y(rows * n), dx(rows * n), dgamma(n), dbeta(n);
        f.channel_norm(x.data(), rows, c, y.data(), nullptr);
        kernels::ChannelGrads to;
        to.dx = dx.data(), to.dgamma = dgamma.data(), to.dbeta = dbeta.data();
        f.channel_norm_grad(dy.data(), x.data(), rows, c, to, nullptr);
        RowFloats added = dy;
        kernels::ChannelGrads more;
        more.dx = added.data(), more.adds = true;
        f.channel_norm_grad(dy.data(), x.data(), rows, c, more, nullptr);
        // The formula in double.
        bool is_near = true;
        const auto near = [&](double got, double want) {
          is_near &= std::abs(got - want) <= 1e-4 * (1 + std::abs(want));
        };
        for (Index j = 0; j < n; ++j) {
          double mean = 0, variance = 0, sum = 0, product = 0;
          for (Index r = 0; r < rows; ++r) mean += x[r * n + j] / static_cast<double>(rows);
          for (Index r = 0; r < rows; ++r)
            variance += (x[r * n + j] - mean) * (x[r * n + j] - mean) / static_cast<double>(rows);
          near(moments[j], mean);
          near(moments[n + j], variance);
          const double by = 1 / std::sqrt(variance + 1e-5);
          const auto z = [&](Index r) { return (x[r * n + j] - mean) * by; };
          const auto g = [&](Index r) {
            return relu && gamma[j] * z(r) + beta[j] <= 0 ? 0 : double{dy[r * n + j]};
          };
          for (Index r = 0; r < rows; ++r) {
            sum += g(r);
            product += g(r) * z(r);
          }
          near(dbeta[j], sum);
          near(dgamma[j], product);
          for (Index r = 0; r < rows; ++r) {
            const double v = gamma[j] * z(r) + beta[j], count = static_cast<double>(rows);
            near(y[r * n + j], relu && v <= 0 ? 0 : v);
            const double d = gamma[j] * by * (g(r) - sum / count - z(r) * product / count);
            near(dx[r * n + j], d);
            near(added[r * n + j], d + dy[r * n + j]);
          }
        }
        CHECK(is_near);
      }
  });
}

TEST_CASE("block kernels compute max and average pooling and their gradients") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(9);
    // 7 x 6 pixels, windows of 3 x 2 with strides 2 and 1, one row of padding.
    const kernels::PoolAxis none{1, 1, 1, 1, 1, 0, 0, false}, rows{7, 4, 3, 2, 1, 1, 1, false},
        columns{6, 5, 2, 1, 1, 0, 0, false};
    const Index batch = 2, channels = 3;
    const RowFloats x = some_row_floats(dice, batch * 42 * channels),
                    dy = some_row_floats(dice, batch * 20 * channels);
    for (const bool is_max : {false, true}) {
      const kernels::Pools p{batch, channels, {none, rows, columns}, is_max, false};
      RowFloats y(dy.size()), dx(x.size()), want(dy.size()), want_dx(x.size());
      f.pool(x.data(), p, y.data(), nullptr);
      f.pool_grad(dy.data(), x.data(), p, dx.data(), nullptr);
      for (Index b = 0; b < batch; ++b)
        for (Index i = 0; i < 4; ++i)
          for (Index j = 0; j < 5; ++j)
            for (Index c = 0; c < channels; ++c) {
              std::vector<Index> taps;
              for (Index u = std::max<Index>(0, 2 * i - 1); u < std::min<Index>(7, 2 * i + 2); ++u)
                for (Index v = j; v < j + 2; ++v)
                  taps.push_back(((b * 7 + u) * 6 + v) * channels + c);
              const Index at = ((b * 4 + i) * 5 + j) * channels + c;
              const Index most =
                  *std::ranges::max_element(taps, [&](Index s, Index t) { return x[s] < x[t]; });
              if (is_max) want[at] = x[most];
              if (is_max) want_dx[most] += dy[at];
              for (const Index t : taps) {
                const auto count = static_cast<float>(taps.size());
                if (!is_max) want[at] += x[t] / count;
                if (!is_max) want_dx[t] += dy[at] / count;
              }
            }
      check_rows_near(y, want);
      check_rows_near(dx, want_dx);
    }
  });
}
