// RowFunctions over grids, as a GPU runs them.
#include "kernels/block/rows/rows.h"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/reference/rows.h"
#include "tests/support/checked_device.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using kernels::RowFunctions;

namespace {

using RowFloats = std::vector<float>;
constexpr float endless = std::numeric_limits<float>::infinity();

// Twice: as a device does, and in a random order of threads that says what they do to each other.
template <class F>
void with_row_tables(F&& f) {
  static const RowFunctions plain = kernels::row_functions<kernels::SerialGrid>(),
                            careful = kernels::row_functions<CheckedDevice>();
  for (const bool checked : {false, true}) {
    CAPTURE(checked);
    CheckedDevice::reset(11);
    f(checked ? careful : plain);
    CHECK(CheckedDevice::reports() == std::vector<std::string>{});
  }
}

RowFloats some_row_floats(Dice& dice, Index n, double size = 1) {
  RowFloats x(n);
  for (float& v : x) v = static_cast<float>(size * dice.normal());
  return x;
}

// To 1e-6 of the largest; NaN where the other one is.
void check_rows_near(const RowFloats& got, const RowFloats& want) {
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

const kernels::RowsTable& plain_rows() { return *kernels::rows_reference(); }

// As libsten's operator has it, of lines one after the other.
RowFloats softmax_of_lines(const RowFloats& x, Index n, bool is_log) {
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
RowFloats softmax_grad_of_lines(const RowFloats& dy, const RowFloats& y, Index n, bool is_log) {
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
// [outer, length, inner] to [outer, inner, length], or back.
RowFloats with_turned_lines(const RowFloats& x, kernels::DeviceLines l, bool back) {
  RowFloats y(x.size());
  for (Index o = 0; o < l.outer; ++o)
    for (Index k = 0; k < l.length; ++k)
      for (Index i = 0; i < l.inner; ++i) {
        const Index a = (o * l.length + k) * l.inner + i, b = (o * l.inner + i) * l.length + k;
        back ? y[a] = x[b] : y[b] = x[a];
      }
  return y;
}

}  // namespace

TEST_CASE("blocks compute softmax and its gradient along any axis") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(1);
    for (const kernels::DeviceLines& l : {kernels::DeviceLines{3, 7, 1},
                                          {1, 1, 1},
                                          {2, 33, 1},
                                          {2, 2000, 1},
                                          {2, 5, 70},
                                          {0, 4, 1},
                                          {3, 0, 1},
                                          {1, 4, 3}})
      for (const bool is_log : {false, true}) {
        CAPTURE(l.length);
        const Index all = l.outer * l.length * l.inner;
        const RowFloats x = some_row_floats(dice, all, 3), dy = some_row_floats(dice, all);
        RowFloats y(all), dx(all);
        f.softmax(x.data(), l, is_log, y.data(), nullptr);
        const RowFloats lines = with_turned_lines(x, l, false), g = with_turned_lines(dy, l, false);
        const RowFloats want = softmax_of_lines(lines, l.length, is_log);
        const RowFloats there = with_turned_lines(want, l, true);
        check_rows_near(y, there);
        f.softmax_grad(dy.data(), there.data(), l, is_log, dx.data(), nullptr);
        const RowFloats grads = softmax_grad_of_lines(g, want, l.length, is_log);
        check_rows_near(dx, with_turned_lines(grads, l, true));
      }
  });
}

TEST_CASE("blocks compute softmax of infinities and of NaN as the CPU does") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const RowFloats& x : {RowFloats{-endless, 1, 2},
                             {1, -endless, 2},
                             {-endless, -endless},
                             {1, endless, 2},
                             {endless, endless},
                             {nan, 1},
                             {1, nan},
                             {nan, -endless},
                             {-1e30f, -1e30f}}) {
    const auto n = static_cast<Index>(x.size());
    RowFloats rows(n), lines(n);
    kernels::row_functions<kernels::SerialGrid>().softmax(x.data(), {1, n, 1}, false, rows.data(),
                                                          nullptr);
    RowFloats twice(2 * n), out(2 * n);
    for (Index i = 0; i < 2 * n; ++i) twice[i] = x[i / 2];
    kernels::row_functions<kernels::SerialGrid>().softmax(twice.data(), {1, n, 2}, false,
                                                          out.data(), nullptr);
    for (Index i = 0; i < n; ++i) lines[i] = out[2 * i + 1];
    const RowFloats want = softmax_of_lines(x, n, false);
    check_rows_near(rows, want);
    check_rows_near(lines, want);
  }
}

TEST_CASE("blocks compute layer norms and their gradients") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(2);
    using Size = std::pair<Index, Index>;
    for (const Size& size : {Size{1, 1}, {3, 7}, {70, 33}, {2, 1500}, {150, 40}, {0, 5}}) {
      const Index rows = size.first, n = size.second;
      CAPTURE(rows);
      CAPTURE(n);
      RowFloats x = some_row_floats(dice, rows * n);
      for (float& v : x) v += 100;
      const RowFloats dy = some_row_floats(dice, rows * n), gamma = some_row_floats(dice, n),
                      beta = some_row_floats(dice, n);
      RowFloats y(rows * n), dx(rows * n), dgamma(n), dbeta(n);
      f.layer_norm(x.data(), rows, n, gamma.data(), beta.data(), 1e-5, y.data(), nullptr);
      f.layer_norm_grad(dy.data(), x.data(), rows, n, gamma.data(), 1e-5, dx.data(), dgamma.data(),
                        dbeta.data(), nullptr);
      RowFloats want(rows * n), want_dx(rows * n);
      std::vector<double> sums(2 * n);
      for (Index r = 0; r < rows; ++r) {
        const float *from = x.data() + r * n, *g = dy.data() + r * n;
        const kernels::RowMoments s = plain_rows().moments(from, n, 1e-5);
        plain_rows().normalize(s, from, n, gamma.data(), beta.data(), want.data() + r * n);
        plain_rows().normalize_grad(s, g, from, n, gamma.data(), want_dx.data() + r * n);
        plain_rows().add_normalized(s, g, from, n, sums.data(), sums.data() + n);
      }
      check_rows_near(y, want);
      check_rows_near(dx, want_dx);
      check_rows_near(dgamma, RowFloats(sums.begin(), sums.begin() + n));
      check_rows_near(dbeta, RowFloats(sums.begin() + n, sums.end()));
      RowFloats alone(n);
      f.layer_norm_grad(dy.data(), x.data(), rows, n, gamma.data(), 1e-5, nullptr, nullptr,
                        alone.data(), nullptr);
      CHECK(alone == dbeta);
    }
  });
}

TEST_CASE("blocks take rows by number, and sum what comes back, in a fixed order") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(3);
    struct Size {
      Index outer, extent, n, count;
    };
    for (const Size& s : {Size{1, 5, 3, 4},
                          {1, 300, 1, 3000},
                          {1, 3, 70, 90},
                          {2, 4, 7, 40},
                          {1, 2, 2100, 11},
                          {3, 1, 1, 1},
                          {1, 6, 2, 0},
                          {1, 6, 0, 3}}) {
      CAPTURE(s.extent);
      CAPTURE(s.n);
      std::vector<std::int64_t> ids(s.count);
      for (auto& id : ids) id = dice.below(2 * s.extent) - s.extent;
      std::vector<std::int64_t> rows = ids;
      for (auto& r : rows) r += r < 0 ? s.extent : 0;
      std::uint32_t bad = 0;
      const kernels::RowIds r{ids.data(), s.count, s.outer, s.extent, s.n, true, &bad};
      const RowFloats table = some_row_floats(dice, s.outer * s.extent * s.n);
      const RowFloats dy = some_row_floats(dice, s.outer * s.count * s.n);
      RowFloats y(dy.size()), want(dy.size()), to(table.size(), 7), sum = table;
      std::vector<double> sums(table.size());
      f.take_rows(table.data(), r, y.data(), nullptr);
      for (Index o = 0; o < s.outer; ++o)
        for (Index i = 0; i < s.count; ++i)
          for (Index c = 0; c < s.n; ++c) {
            const Index at = (o * s.extent + rows[i]) * s.n + c, mine = (o * s.count + i) * s.n + c;
            want[mine] = table[at];
            sums[at] += dy[mine];
          }
      CHECK(y == want);
      f.sum_rows_by_id(dy.data(), r, false, to.data(), nullptr);
      check_rows_near(to, RowFloats(sums.begin(), sums.end()));
      f.sum_rows_by_id(dy.data(), r, true, sum.data(), nullptr);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] -= table[i];
      CHECK(bad == 0);
      for (std::size_t i = 0; i < sum.size(); ++i)
        CHECK(std::abs(sum[i] - to[i]) <= 1e-5 * (1 + std::abs(to[i])));
    }
  });
}

TEST_CASE("numbers that name no row are counted and not followed") {
  with_row_tables([](const RowFunctions& f) {
    const std::vector<std::int64_t> ids{1, 5, -1, 0, std::int64_t{1} << 40};
    const RowFloats table{1, 2, 3, 4, 5, 6}, dy{1, 1, 2, 2, 4, 4, 8, 8, 16, 16};
    std::uint32_t bad = 0;
    RowFloats y(10), to(6);
    f.take_rows(table.data(), {ids.data(), 5, 1, 3, 2, false, &bad}, y.data(), nullptr);
    CHECK(bad == 3);
    CHECK(y[0] == 3);
    CHECK(y[7] == 2);
    for (const int i : {2, 3, 4, 5, 8, 9}) CHECK(std::isnan(y[i]));
    f.sum_rows_by_id(dy.data(), {ids.data(), 5, 1, 3, 2, true, &bad}, false, to.data(), nullptr);
    CHECK(to == RowFloats{8, 8, 1, 1, 4, 4});
    CHECK(bad == 5);
  });
}

TEST_CASE("blocks compute losses of classes and their gradients") {
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
      // In double, by the formulas.
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

TEST_CASE("a target that is no class is counted, and its row is NaN") {
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

TEST_CASE("blocks compute the mean squared error and its gradients") {
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

TEST_CASE("blocks make scores attention's weights, with their gradient") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(6);
    struct Case {
      Index batch, heads, tokens, keys;
      bool causal, masked;
    };
    for (const Case& k : {Case{2, 3, 4, 5, false, false},
                          {2, 1, 5, 4, true, true},
                          {1, 2, 3, 40, true, false},
                          {3, 2, 2, 6, false, true},
                          {1, 1, 2, 1100, true, true}}) {
      CAPTURE(k.keys);
      const Index rows = k.batch * k.heads * k.tokens, n = k.keys;
      std::vector<std::int64_t> seen(k.batch * n);
      for (Index i = 0; i < k.batch * n; ++i) seen[i] = i < n ? i % 3 != 0 : i >= 2 * n;
      kernels::AttentionScores a{k.batch,  k.heads, k.tokens, n, 0.5f,
                                 k.causal, nullptr, nullptr,  {}};
      if (k.masked) a.seen = seen.data();
      const RowFloats x = some_row_floats(dice, rows * n, 3), d = some_row_floats(dice, rows * n);
      RowFloats p = x, ds = d, want(rows * n), want_ds(rows * n);
      f.attention_weights(a, p.data(), nullptr);
      f.attention_grad(a, p.data(), ds.data(), nullptr);
      for (Index r = 0; r < rows; ++r) {
        const Index last = k.causal ? std::clamp<Index>(n - k.tokens + r % k.tokens + 1, 0, n) : n;
        const auto sees = [&](Index i) {
          return i < last && (!k.masked || seen[r / (k.heads * k.tokens) * n + i] != 0);
        };
        double most = -1e300, sum = 0, mean = 0;
        for (Index i = 0; i < n; ++i)
          if (sees(i)) most = std::max(most, 0.5 * x[r * n + i]);
        for (Index i = 0; i < n; ++i)
          if (sees(i)) sum += std::exp(0.5 * x[r * n + i] - most);
        for (Index i = 0; i < n; ++i) {
          if (sees(i))
            want[r * n + i] = static_cast<float>(std::exp(0.5 * x[r * n + i] - most) / sum);
          mean += double{want[r * n + i]} * d[r * n + i];
        }
        for (Index i = 0; i < n; ++i)
          want_ds[r * n + i] = static_cast<float>(want[r * n + i] * (d[r * n + i] - mean));
      }
      check_rows_near(p, want);
      check_rows_near(ds, want_ds);
    }
  });
}

TEST_CASE("blocks add a bias to scores, sum its gradient, and move heads") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(7);
    const Index batch = 2, heads = 3, tokens = 4, keys = 5, all = batch * heads * tokens * keys;
    const RowFloats x = some_row_floats(dice, all), bias = some_row_floats(dice, heads * keys);
    // One of [heads, 1, keys].
    kernels::AttentionScores a{batch, heads,   tokens,      keys,           2,
                               false, nullptr, bias.data(), {0, keys, 0, 1}};
    RowFloats p = x, sum = x, sums(heads * keys), want(heads * keys);
    f.attention_weights(a, p.data(), nullptr);
    for (Index i = 0; i < all; ++i) {
      const Index at = i / (tokens * keys) % heads * keys + i % keys;
      sum[i] = 2 * x[i] + bias[at];
      want[at] += x[i];
    }
    check_rows_near(p, softmax_of_lines(sum, keys, false));
    f.bias_grad(a, x.data(), sums.data(), nullptr);
    check_rows_near(sums, want);

    RowFloats apart(all), back(all);
    f.split_heads(x.data(), batch, tokens, heads, keys, apart.data(), nullptr);
    bool is_moved = true;
    for (Index i = 0; i < all; ++i) {
      const Index b = i / (tokens * heads * keys), t = i / (heads * keys) % tokens,
                  h = i / keys % heads;
      is_moved &= apart[((b * heads + h) * tokens + t) * keys + i % keys] == x[i];
    }
    CHECK(is_moved);
    f.join_heads(apart.data(), batch, tokens, heads, keys, back.data(), nullptr);
    CHECK(back == x);
  });
}

TEST_CASE("blocks compute norms of channels and their gradients") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(8);
    using Size = std::pair<Index, Index>;
    for (const Size& size : {Size{1, 1}, {9, 3}, {150, 40}, {12, 1100}, {0, 4}})
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
        // In double, by the formula.
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

TEST_CASE("blocks pool windows, and give each element what windows have of it") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(9);
    // 7 x 6 pixels in windows of 3 x 2, two steps and one from each other, one row of padding.
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
