// SPDX-License-Identifier: Apache-2.0
// Variational dropout: KL divergence and noise.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/core/base/random.h"
#include "libsten/core/sparsify/variational_dropout.h"
#include "tests/support/sparsifier_reference.h"

using namespace sten;
using namespace sten::testing;

namespace {

const bool has_variational_dropout_reference =
    add_reference("variational-dropout", Kind::materializing, [](const Selection& s) {
      return s.keep_if([&](Index i) {
        const double v = s.values[i];
        return s.scores[i] - std::log(v * v + 1e-8) <= s.spec.number("at");
      });
    });

}  // namespace

TEST_CASE("the KL divergence matches the paper's formula and falls to 0 as alpha grows") {
  // -(k1 sigmoid(k2 + k3 log alpha) - 0.5 log(1 + 1/alpha) - k1), computed by hand.
  const auto at = [](double log_alpha) {
    return variational_dropout::divergence(1, log_alpha + std::log(1 + 1e-8)).value;
  };
  CHECK(at(0) == doctest::Approx(0.63576 - 0.63576 * 0.866829 + 0.5 * 0.693147).epsilon(1e-5));
  CHECK(at(-8) > 4);
  CHECK(at(3) < 0.03);
  CHECK(at(8) < 3e-4);
  CHECK(at(9) == doctest::Approx(at(8)));
}

TEST_CASE("derivatives of the KL divergence match finite differences") {
  for (const double w : {-1.3, -0.02, 1e-3, 0.4})
    for (const double s : {-12.0, -7.0, -3.0, 0.5}) {
      const double a = variational_dropout::log_alpha(w, s);
      if (std::abs(std::abs(a) - 8) < 0.1) continue;
      CAPTURE(w);
      CAPTURE(s);
      const auto d = variational_dropout::divergence(w, s);
      const double h = 1e-4 * std::abs(w);
      CHECK(d.by_w == doctest::Approx((variational_dropout::divergence(w + h, s).value -
                                       variational_dropout::divergence(w - h, s).value) /
                                      (2 * h))
                          .epsilon(1e-4));
      CHECK(d.by_log_sigma2 ==
            doctest::Approx((variational_dropout::divergence(w, s + 1e-4).value -
                             variational_dropout::divergence(w, s - 1e-4).value) /
                            2e-4)
                .epsilon(1e-4));
    }
}

TEST_CASE("variational dropout noise is standard normal") {
  constexpr int n = 200000;
  double mean = 0, square = 0;
  int within = 0;
  for (int i = 0; i < n; ++i) {
    const double e = variational_dropout::normal(random_uniform(3, 2 * i) + 0x1p-60,
                                                 random_uniform(3, 2 * i + 1));
    mean += e / n;
    square += e * e / n;
    within += std::abs(e) < 1;
  }
  // Four standard deviations.
  CHECK(std::abs(mean) < 4 / std::sqrt(double{n}));
  CHECK(std::abs(square - 1) < 4 * std::sqrt(2.0 / n));
  CHECK(within == doctest::Approx(0.6827 * n).epsilon(0.01));
}
