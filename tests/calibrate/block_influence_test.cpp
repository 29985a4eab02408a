// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/block_influence.h"

#include <doctest/doctest.h>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("block influence is 1 minus the mean cosine of a layer's input and output tokens") {
  const Dense x = Dense::of({2, 2}, {3, 4, 0, 2});
  const auto of = [&](std::initializer_list<float> y) {
    BlockInfluence b;
    b.add(x, Dense::of({2, 2}, y));
    CHECK(b.tokens() == 2);
    return b.value();
  };
  CHECK(of({3, 4, 0, 2}) == 0);
  CHECK(of({6, 8, 0, 1}) == doctest::Approx(0));
  CHECK(of({-3, -4, 0, -2}) == doctest::Approx(2));
  CHECK(of({4, -3, 0, 2}) == doctest::Approx(0.5));
  CHECK(of({0, 0, 0, 2}) == doctest::Approx(0.5));
  // Batches of other sizes count by their tokens.
  BlockInfluence b;
  b.add(x, x);
  b.add(Dense::of({1, 1, 2}, {1, 0}), Dense::of({1, 1, 2}, {0, 1}));
  CHECK(b.value() == doctest::Approx(1.0 / 3));
  CHECK(BlockInfluence().value() == 0);
  CHECK(has(error_of([&] {
              b.add(x, Dense::of({4}, {1, 2, 3, 4}));
            }),
            "the output of a layer must have the shape of its input [2, 2], got [4]"));
}
