// SPDX-License-Identifier: Apache-2.0
// Hard-concrete gates: distribution and derivatives.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/core/base/random.h"
#include "libsten/core/sparsify/hard_concrete.h"

using namespace sten;

namespace {

constexpr double some_a[] = {-6, -2.5, -2.3979, -1, 0, 0.7, 2, 2.5, 8};

double slope_of(const auto& f, double at) {
  constexpr double h = 1e-5;
  return (f(at + h) - f(at - h)) / (2 * h);
}

}  // namespace

TEST_CASE("the distribution of hard-concrete gates matches the paper") {
  constexpr int n = 200000;
  for (const double a : some_a) {
    CAPTURE(a);
    int shut = 0, open = 0, below_half = 0, outside = 0;
    for (int i = 0; i < n; ++i) {
      const double z = hard_concrete::sample(a, (i + 0.5) / n).z;
      outside += !(z >= 0 && z <= 1);
      shut += z == 0;
      open += z == 1;
      below_half += z <= 0.5;
    }
    CHECK(outside == 0);
    // Q(x) = sigmoid(beta * log(x' / (1 - x')) - a), x' = (x - gamma) / (zeta - gamma).
    const auto q = [&](double x) {
      const double y = (x + 0.1) / 1.2;
      return sigmoid_of(2.0 / 3 * std::log(y / (1 - y)) - a);
    };
    CHECK(shut == doctest::Approx(n * q(0)).epsilon(1e-3).scale(n));
    CHECK(open == doctest::Approx(n * (1 - q(1))).epsilon(1e-3).scale(n));
    CHECK(below_half == doctest::Approx(n * q(0.5)).epsilon(1e-3).scale(n));
    CHECK(hard_concrete::penalty(a).z == doctest::Approx(1 - q(0)));
  }
}

TEST_CASE("derivatives of gates and of their penalty match finite differences") {
  for (const double a : some_a)
    for (const double u : {0.02, 0.3, 0.5, 0.71, 0.999}) {
      CAPTURE(a);
      CAPTURE(u);
      const double z = hard_concrete::sample(a, u).z;
      // The derivative does not exist at the ends of the clamped range.
      if (std::abs(z - 0.5) == 0.5 || std::abs(std::abs(z - 0.5) - 0.5) > 1e-3)
        CHECK(hard_concrete::sample(a, u).by_a ==
              doctest::Approx(slope_of([&](double b) { return hard_concrete::sample(b, u).z; }, a))
                  .epsilon(1e-5)
                  .scale(1));
      CHECK(hard_concrete::penalty(a).by_a ==
            doctest::Approx(slope_of([](double b) { return hard_concrete::penalty(b).z; }, a))
                .epsilon(1e-6)
                .scale(1));
    }
}

TEST_CASE("the deterministic gate leaves 0 at -ln 11 and reaches 1 at ln 11") {
  const double ln11 = std::log(11.0);
  CHECK(hard_concrete::expected(-ln11 - 1e-9).z == 0);
  CHECK(hard_concrete::expected(-ln11 + 1e-9).z > 0);
  CHECK(hard_concrete::expected(ln11 - 1e-9).z < 1);
  CHECK(hard_concrete::expected(ln11 + 1e-9).z == 1);
  CHECK(hard_concrete::expected(0).z == doctest::Approx(0.5));
}
