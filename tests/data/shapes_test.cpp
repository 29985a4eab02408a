// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/shapes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "libsten/core/base/hash.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("drawn shapes do not depend on the thread count or the image count") {
  Examples first;
  for (const int team : {1, 3}) {
    const Threads several(team);
    const Examples e = draw_shapes({.count = 200});
    CHECK(e.features.extents == Shape{200, 16, 16, 3});
    CHECK(e.classes() == 10);
    if (team > 1) CHECK(same_bits(e.features, first.features));
    first = e;
  }
  const Examples fewer = draw_shapes({.count = 30});
  const auto a = fewer.features.values.as<std::uint8_t>(),
             b = first.features.values.as<std::uint8_t>();
  CHECK(std::equal(a.begin(), a.end(), b.begin()));
  CHECK_FALSE(same_bits(draw_shapes({.count = 30, .seed = 1}).features, fewer.features));
}

TEST_CASE("each shape class covers its geometric area, relative to the disc") {
  // Counts pixels far from the background, a linear gradient between corners if there is no noise.
  double covered[10] = {};
  const Index side = 32, last = side - 1, count = 1000;
  const Examples e = draw_shapes({.count = count, .size = side, .noise = 0});
  const std::uint8_t* pixels = e.features.values.as<std::uint8_t>().data();
  for (Index i = 0; i < count; ++i) {
    const auto at = [&](Index y, Index x, int c) -> int {
      return pixels[((i * side + y) * side + x) * 3 + c];
    };
    Index inside = 0;
    for (Index y = 0; y < side; ++y)
      for (Index x = 0; x < side; ++x) {
        Index away = 0;
        for (int c = 0; c < 3; ++c)
          away += std::abs(at(y, x, c) - at(0, 0, c) - x * (at(0, last, c) - at(0, 0, c)) / last -
                           y * (at(last, 0, c) - at(0, 0, c)) / last);
        inside += away > 60;
      }
    covered[i % 10] += static_cast<double>(inside);
  }
  const auto to_disc = [&](int shape) { return covered[shape] / covered[0]; };
  // A circle of radius 1 has the area pi.
  CHECK(to_disc(1) == doctest::Approx(1 - 25.0 / 64).epsilon(0.08));
  CHECK(to_disc(2) == doctest::Approx(1.75 * 1.75 / 3.1416).epsilon(0.08));
  CHECK(to_disc(3) == doctest::Approx((1.75 * 1.75 - 1) / 3.1416).epsilon(0.08));
  CHECK(to_disc(4) == doctest::Approx(2 / 3.1416).epsilon(0.08));
  CHECK(to_disc(5) == doctest::Approx(2 / 3.1416).epsilon(0.08));
  CHECK(to_disc(6) == doctest::Approx(1.75 / 3.1416).epsilon(0.08));
  CHECK(to_disc(8) == doctest::Approx(2 / 3.1416).epsilon(0.08));
  CHECK(to_disc(9) == doctest::Approx(2 / 3.1416).epsilon(0.08));
}

TEST_CASE("draw_shapes rejects an invalid count, size or noise") {
  CHECK(error_of([] { draw_shapes({.count = 0}); }) ==
        "shapes: cannot draw 0 images of 16 x 16 pixels with noise 48");
  CHECK_FALSE(error_of([] { draw_shapes({.size = 7}); }).empty());
  CHECK_FALSE(error_of([] { draw_shapes({.noise = 256}); }).empty());
}
