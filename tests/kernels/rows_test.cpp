// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows.h"

#include <cmath>
#include <limits>

#include "tests/kernels/fenced.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
constexpr float infinite = std::numeric_limits<float>::infinity();
const std::vector<Index> row_sizes{1, 2, 7, 8, 9, 15, 16, 17, 32, 33, 128, 1000};

// f(table, n, two rows) for every ISA of this machine and every size.
template <class F>
void each_case(F&& f) {
  for (const kernels::Isa isa : kernels::all_isas) {
    const kernels::RowsTable* table = kernels::rows_for(isa);
    if (!table) continue;
    const std::string name = kernels::name_of(isa);
    CAPTURE(name);
    for (const Index n : row_sizes) {
      CAPTURE(n);
      Dice dice(n);
      Floats x(n), y(n);
      for (float& v : x) v = static_cast<float>(3 * dice.normal());
      for (float& v : y) v = static_cast<float>(dice.normal());
      f(*table, n, x, y);
    }
  }
}

void check_near(const Floats& got, const Doubles& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!(std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i]))))
      FAIL_CHECK("element " << i << " is " << got[i] << ", not " << want[i]);
}

Doubles softmax(const Floats& x, double by) {
  const double most = by * *std::max_element(x.begin(), x.end());
  Doubles y;
  double sum = 0;
  for (const float v : x) sum += y.emplace_back(std::exp(by * v - most));
  for (double& v : y) v /= sum;
  return y;
}

// z of a row, and 1 / deviation.
std::pair<Doubles, double> normalized(const Floats& x, double eps) {
  double mean = 0, square = 0;
  for (const float v : x) mean += v / static_cast<double>(x.size());
  for (const float v : x) square += (v - mean) * (v - mean) / static_cast<double>(x.size());
  const double by = 1 / std::sqrt(square + eps);
  Doubles z;
  for (const float v : x) z.push_back((v - mean) * by);
  return {z, by};
}

}  // namespace

TEST_CASE("the maximum of a row and the sum of its exponentials match the formula at any size") {
  each_case([](const kernels::RowsTable& t, Index n, const Floats& x, const Floats&) {
    Fenced<float> in(x), out(n);
    const float most = *std::max_element(x.begin(), x.end());
    CHECK(t.greatest(in.data(), n) == most);
    Doubles want;
    double sum = 0;
    for (const float v : x) sum += want.emplace_back(std::exp(double{v - most}));
    CHECK(t.exp_sum(in.data(), n, most, nullptr) == doctest::Approx(sum).epsilon(3e-7));
    CHECK(t.exp_sum(in.data(), n, most, out.data()) == doctest::Approx(sum).epsilon(3e-7));
    check_near(out.values(), want, 3e-7);
  });
}

TEST_CASE("the maximum of a row ignores NaN; exponentials reach 0, infinity and subnormals") {
  each_case([](const kernels::RowsTable& t, Index n, const Floats&, const Floats&) {
    Floats x(n, -infinite);
    CHECK(t.greatest(x.data(), n) == -infinite);
    x.back() = std::nanf("");
    CHECK(t.greatest(x.data(), n) == -infinite);
    x.front() = 2;
    CHECK(t.greatest(x.data(), n) == 2);
    const Floats ends{-infinite, infinite, 0, -88, -100, -120, 89, std::nanf("")};
    Floats e(ends.size());
    t.exp_sum(ends.data(), std::ssize(ends), 0, e.data());
    CHECK(Floats(e.begin(), e.begin() + 3) == Floats{0, infinite, 1});
    CHECK(e[3] == doctest::Approx(std::exp(-88.0)).epsilon(1e-6));
    CHECK(e[4] == doctest::Approx(std::exp(-100.0)).epsilon(0.02));
    CHECK(e[5] == 0);
    CHECK(e[6] == infinite);
    CHECK(std::isnan(e[7]));
  });
}

TEST_CASE("in-place softmax of a row and its gradient match the formula at any size") {
  each_case([](const kernels::RowsTable& t, Index n, const Floats& x, const Floats& dy) {
    const double by = 0.4;
    const Doubles want = softmax(x, by);
    Fenced<float> y(x), dx(dy);
    t.softmax(y.data(), n, static_cast<float>(by), y.data());
    check_near(y.values(), want, 1e-6);
    double mean = 0;
    for (Index i = 0; i < n; ++i) mean += want[i] * dy[i];
    Doubles gradient;
    for (Index i = 0; i < n; ++i) gradient.push_back(by * want[i] * (dy[i] - mean));
    t.softmax_grad(dx.data(), y.data(), n, static_cast<float>(by), dx.data());
    check_near(dx.values(), gradient, 1e-6);
  });
}

TEST_CASE("layer norm of a row and its gradients match the formula at any size") {
  each_case([](const kernels::RowsTable& t, Index n, Floats x, const Floats& dy) {
    const double eps = 1e-3;
    for (const float far : {0.0f, 1e4f}) {
      for (float& v : x) v += far;
      const auto [z, by] = normalized(x, eps);
      Floats gamma(n), beta(n);
      for (Index i = 0; i < n; ++i) gamma[i] = 1 + dy[n - 1 - i], beta[i] = dy[i];
      Fenced<float> in(x), from(dy), out(n);
      const kernels::RowMoments s = t.moments(in.data(), n, eps);
      t.normalize(s, in.data(), n, gamma.data(), beta.data(), out.data());
      Doubles y, g, gradient;
      double mean = 0, along = 0;
      for (Index i = 0; i < n; ++i) {
        y.push_back(z[i] * gamma[i] + beta[i]);
        g.push_back(double{dy[i]} * gamma[i]);
        mean += g[i] / static_cast<double>(n);
        along += g[i] * z[i] / static_cast<double>(n);
      }
      for (Index i = 0; i < n; ++i) gradient.push_back(by * (g[i] - mean - z[i] * along));
      check_near(out.values(), y, 2e-6);
      t.normalize_grad(s, from.data(), in.data(), n, gamma.data(), out.data());
      check_near(out.values(), gradient, n == 1 ? 1e-4 : 4e-6);
      Doubles to_gamma(n, 0.5), to_beta(n, -1);
      t.add_normalized(s, from.data(), in.data(), n, to_gamma.data(), to_beta.data());
      for (Index i = 0; i < n; ++i) {
        CHECK(std::abs(to_gamma[i] - 0.5 - dy[i] * z[i]) <= 2e-6 * (1 + std::abs(dy[i] * z[i])));
        CHECK(to_beta[i] + 1 == doctest::Approx(dy[i]));
      }
    }
  });
}

TEST_CASE("add_rows sums strided rows in double precision") {
  each_case([](const kernels::RowsTable& t, Index n, const Floats& x, const Floats& y) {
    const Index stride = n + 3;
    for (const Index rows : {0, 1, 3, 4, 5, 9}) {
      Floats all(rows * stride, 1e30f);
      Doubles want(n, 0.25);
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < n; ++i) {
          all[r * stride + i] = r % 2 ? x[i] : y[i] * 1e-6f;
          want[i] += all[r * stride + i];
        }
      if (rows > 0) all.resize(all.size() - 3);
      Fenced<float> in(all);
      Fenced<double> sums(Doubles(n, 0.25));
      t.add_rows(in.data(), stride, rows, n, sums.data());
      const Doubles got = sums.values();
      for (Index i = 0; i < n; ++i) CHECK(got[i] == doctest::Approx(want[i]).epsilon(1e-14));
    }
  });
}

TEST_CASE("matrix-vector products match the formula and do not depend on the number of rows") {
  each_case([](const kernels::RowsTable& t, Index n, const Floats& x, const Floats&) {
    Dice dice(n);
    for (const Index rows : {1, 2, 7}) {
      CAPTURE(rows);
      Floats a(rows * n);
      for (float& v : a) v = static_cast<float>(dice.normal());
      Doubles want(rows);
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < n; ++i) want[r] += double{a[r * n + i]} * x[i];
      Fenced<float> matrix(a), vector(x), y(rows);
      t.multiply_vector(matrix.data(), rows, n, vector.data(), y.data());
      check_near(y.values(), want, 1e-4);
      for (Index r = 0; r < rows; ++r) {
        float alone = 0;
        t.multiply_vector(a.data() + r * n, 1, n, x.data(), &alone);
        CHECK(alone == y.data()[r]);
      }
    }
  });
}
