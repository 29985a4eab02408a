// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/rate.h"

#include <doctest/doctest.h>

using namespace sten;

namespace {

void check_factors(const RateRecipe& r, Index steps, const std::vector<double>& expected) {
  CAPTURE(r.kind);
  for (Index t = 0; t < static_cast<Index>(expected.size()); ++t) {
    CAPTURE(t);
    CHECK(rate_factor(r, t, steps) ==
          doctest::Approx(expected[static_cast<std::size_t>(t)]).epsilon(1e-12));
  }
}

}  // namespace

TEST_CASE("a constant schedule keeps the optimizer's rate after a linear warm-up") {
  check_factors({}, 4, {1, 1, 1, 1});
  check_factors({.warmup = 4}, 6, {0.25, 0.5, 0.75, 1, 1, 1});
  check_factors({.warmup = 1}, 2, {1, 1});
}

// torch.optim.lr_scheduler.StepLR(step_size=2, gamma=0.5)
TEST_CASE("a step schedule multiplies the rate by its factor at fixed intervals") {
  check_factors({.kind = "step", .every = 2, .factor = 0.5}, 6, {1, 1, 0.5, 0.5, 0.25, 0.25});
  check_factors({.kind = "step", .warmup = 2, .every = 1, .factor = 0.5}, 3, {0.5, 0.5, 0.25});
}

TEST_CASE("a piecewise schedule keeps each point's factor until the next point") {
  check_factors({.kind = "piecewise", .points = {{1, 0.5}, {3, 0.1}}}, 5, {1, 0.5, 0.5, 0.1, 0.1});
  check_factors({.kind = "piecewise", .points = {{0, 2}}}, 2, {2, 2});
}

// torch.optim.lr_scheduler.LambdaLR with min((t + 1) / 2, 0.5 (1 + cos(pi (t - 2) / 4))): cosines
// of 0, 45, 90 and 135 degrees.
TEST_CASE("a cosine schedule starts after the warm-up and would end one step after the last") {
  const double root = 0.7071067811865476;
  check_factors({.kind = "cosine", .warmup = 2}, 6,
                {0.5, 1, 1, 0.5 * (1 + root), 0.5, 0.5 * (1 - root)});
  check_factors({.kind = "cosine", .end = 0.2}, 2, {1, 0.6});
  // Nothing is left for the cosine.
  check_factors({.kind = "cosine", .warmup = 2}, 2, {0.5, 1});
}

TEST_CASE("rewind restarts the rate schedule at each stage") {
  const RateRecipe r{.kind = "step", .warmup = 2, .every = 1, .factor = 0.5, .rewind = true};
  const std::vector<Index> stages{3, 5};
  const double expected[] = {0.5, 0.5, 0.25, 0.5, 0.5, 0.5, 0.5, 0.25};
  for (Index t = 0; t < 8; ++t) CHECK(rate_factor(r, t, 8, stages) == expected[t]);
  // Spans the steps up to the next stage.
  const RateRecipe cosine{.kind = "cosine", .rewind = true};
  CHECK(rate_factor(cosine, 4, 10, std::vector<Index>{0, 2, 6}) == doctest::Approx(0.5));
  CHECK(rate_factor(cosine, 8, 10, std::vector<Index>{0, 2, 6}) == doctest::Approx(0.5));
}
