// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/allocation.h"

#include <doctest/doctest.h>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Errors that grow as the square of the sparsity.
LayerCurve square_curve(Index elements, double by) {
  LayerCurve c{elements, {}};
  for (Index k = 0; k < allocation_steps; ++k) {
    const double s = static_cast<double>(k) / allocation_steps;
    c.errors.push_back(by * s * s);
  }
  return c;
}

}  // namespace

TEST_CASE("allocation by error reaches the requested sparsity at equal slopes of error") {
  const std::vector<LayerCurve> layers{square_curve(1000, 1), square_curve(1000, 3),
                                       square_curve(2000, 2)};
  const std::vector<double> at = allocate_by_error(layers, 0.4);
  REQUIRE(at.size() == 3);
  CHECK((1000 * at[0] + 1000 * at[1] + 2000 * at[2]) / 4000 == doctest::Approx(0.4));
  // Slopes by element are alike: 2 s / 1000, 6 s / 1000 and 4 s / 2000.
  CHECK(at[0] == doctest::Approx(at[2]).epsilon(0.1));
  CHECK(at[0] == doctest::Approx(3 * at[1]).epsilon(0.3));
  CHECK(error_at(layers[1], 0.5) == doctest::Approx(0.75));
  // A layer is pruned as far as its error stays 0.
  LayerCurve step{1000, std::vector<double>(allocation_steps, 0)};
  step.errors.back() = 1;
  CHECK(allocate_by_error({step, square_curve(1000, 1)}, 0.45)[0] == doctest::Approx(0.9));
  CHECK(has(error_of([&] { allocate_by_error(layers, 0.96); }), "sparsity must be at most 0.95"));
}

TEST_CASE("owl assigns less sparsity to layers with more outliers, within its bounds") {
  const std::vector<double> at =
      allocate_by_outliers({{1000, 0.01}, {1000, 0.03}, {2000, 0.02}}, 0.7);
  CHECK((1000 * at[0] + 1000 * at[1] + 2000 * at[2]) / 4000 == doctest::Approx(0.7));
  CHECK(at[0] - at[1] == doctest::Approx(0.16));
  CHECK(at[0] > at[2]);
  CHECK(at[2] > at[1]);
  CHECK(allocate_by_outliers({{10, 0.5}, {10, 0.5}}, 0.7) == std::vector<double>{0.7, 0.7});
  CHECK(has(error_of([] { allocate_by_outliers({{10, 0}, {10, 1}}, 0.99); }), "too close to 1"));
}
