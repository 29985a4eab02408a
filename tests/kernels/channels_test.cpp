// SPDX-License-Identifier: Apache-2.0
#include "kernels/channels.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "libsten/core/base/random.h"

using namespace sten;
using namespace sten::kernels;

namespace {

using Size = std::int64_t;

std::vector<float> values(std::uint64_t seed, Size n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(2 * random_uniform(seed, i) - 1);
  return x;
}

struct Results {
  std::vector<double> sums, squares, gradients, products;
  std::vector<float> y, dx;
};

Results results_of(const ChannelsTable& t, Size rows, Size n, bool relu) {
  const auto count = static_cast<std::size_t>(n), all = static_cast<std::size_t>(rows * n);
  const std::vector<float> x = values(1, rows * n), dy = values(2, rows * n), a = values(3, n),
                           b = values(4, n), by = values(5, n), more = values(6, n);
  // Sums are added to the given values, and elements after them do not change.
  Results r{std::vector<double>(count + 1, 3), std::vector<double>(count + 1, 4),
            std::vector<double>(count + 1, 5), std::vector<double>(count + 1, 6),
            std::vector<float>(all + 1, 7),    std::vector<float>(all + 1, 8)};
  const ChannelScale s{a.data(), b.data(), relu};
  t.add_moments(x.data(), rows, n, b.data(), r.sums.data(), r.squares.data());
  t.scale(x.data(), rows, n, s, r.y.data());
  t.add_gradients(dy.data(), x.data(), rows, n, s, by.data(), r.gradients.data(),
                  r.products.data());
  t.scale_grad(dy.data(), x.data(), rows, n, s, by.data(), more.data(), r.dx.data());
  return r;
}

template <class T>
double furthest(const std::vector<T>& a, const std::vector<T>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::fmax(worst, std::abs(double{a[i]} - double{b[i]}));
  return worst;
}

}  // namespace

TEST_CASE("moments, scales and gradients of channels match the reference under every ISA") {
  for (const Isa isa : all_isas) {
    const ChannelsTable* table = channels_for(isa);
    if (!table) continue;
    for (const Size n : {1, 3, 8, 9, 16, 31, 64, 65})
      for (const Size rows : {0, 1, 7, 8, 9, 40})
        for (const bool relu : {false, true}) {
          CAPTURE(n);
          CAPTURE(rows);
          const Results got = results_of(*table, rows, n, relu);
          const Results wanted = results_of(*channels_for(Isa::reference), rows, n, relu);
          // Terms are rounded to float, sums are not.
          CHECK(furthest(got.sums, wanted.sums) < 1e-5);
          CHECK(furthest(got.squares, wanted.squares) < 1e-5);
          CHECK(furthest(got.gradients, wanted.gradients) < 1e-5);
          CHECK(furthest(got.products, wanted.products) < 1e-5);
          CHECK(furthest(got.y, wanted.y) < 1e-6);
          CHECK(furthest(got.dx, wanted.dx) < 1e-6);
        }
  }
}

TEST_CASE("the ReLU of a channel propagates NaN and gives inputs of 0 no gradient") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{nan, -1, 0, 2, 1, 1, 1, 1, 1}, one(9, 1.0f), zero(9, 0.0f);
  const ChannelScale s{one.data(), zero.data(), true};
  for (const Isa isa : all_isas) {
    const ChannelsTable* table = channels_for(isa);
    if (!table) continue;
    std::vector<float> y(9), dx(9);
    table->scale(x.data(), 1, 9, s, y.data());
    CHECK(std::isnan(y[0]));
    CHECK(std::vector<float>(y.begin() + 1, y.begin() + 4) == std::vector<float>{0, 0, 2});
    table->scale_grad(one.data(), zero.data(), 1, 9, s, zero.data(), zero.data(), dx.data());
    CHECK(dx == zero);
  }
}
