// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/augment.h"

#include <doctest/doctest.h>

#include <numeric>

#include "libsten/core/base/error.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Two images of 2 x 3 pixels and 2 channels, with bytes counting from 1.
Dense two_images() {
  Dense x = Dense::zeros(DType::U8, {2, 2, 3, 2});
  const auto v = x.values.mutate<std::uint8_t>();
  std::iota(v.begin(), v.end(), std::uint8_t{1});
  return x;
}
const ChannelScale as_it_is = channel_scale(2, 1, 0, {}, {});

std::vector<float> seen(const Dense& x, Index row, const ImageView& view) {
  const Dense y = images_of(x, std::vector<Index>{row}, as_it_is, std::vector{view}, false);
  const auto v = y.values.as<float>();
  return {v.begin(), v.end()};
}

}  // namespace

TEST_CASE("an image view crops with zero padding, then mirrors") {
  const Dense x = two_images();
  CHECK(seen(x, 1, {}) == std::vector<float>{13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24});
  CHECK(seen(x, 0, {0, 0, true}) == std::vector<float>{5, 6, 3, 4, 1, 2, 11, 12, 9, 10, 7, 8});
  CHECK(seen(x, 0, {1, -1, false}) == std::vector<float>{0, 0, 7, 8, 9, 10, 0, 0, 0, 0, 0, 0});
  // The crop is applied before the flip.
  CHECK(seen(x, 0, {1, -1, true}) == std::vector<float>{9, 10, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("channel normalization applies to pixels and to padding zeros") {
  const Dense x = two_images();
  const ChannelScale by = channel_scale(2, 1.0 / 255, 0, {0.5, 0.25}, {0.25, 0.5});
  const Dense y =
      images_of(x, std::vector<Index>{0}, by, std::vector<ImageView>{{0, 1, false}}, true);
  CHECK(y.extents == Shape{1, 2, 2, 3});
  const auto v = y.values.as<float>();
  CHECK(v[0] == doctest::Approx((3 / 255.0 - 0.5) / 0.25));
  CHECK(v[2] == doctest::Approx(-2));
  CHECK(v[6] == doctest::Approx((4 / 255.0 - 0.25) / 0.5));
  CHECK(v[8] == doctest::Approx(-0.5));
}

TEST_CASE("random views are deterministic by seed and index, and cover all shifts and flips") {
  const Augmentation a{2, true, 7};
  std::vector<int> tops(5), lefts(5), mirrored(2);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const ImageView v = view_of(a, i), again = view_of({2, true, 7}, i);
    CHECK((v.top == again.top && v.left == again.left && v.mirrored == again.mirrored));
    ++tops.at(static_cast<std::size_t>(v.top + 2));
    ++lefts.at(static_cast<std::size_t>(v.left + 2));
    ++mirrored[v.mirrored];
  }
  for (const int n : tops) CHECK(n > 130);
  for (const int n : lefts) CHECK(n > 130);
  for (const int n : mirrored) CHECK(n > 400);
  const ImageView none = view_of({0, false, 7}, 3);
  CHECK((none.top == 0 && none.left == 0 && !none.mirrored));
}

TEST_CASE("channel_scale rejects lists of the wrong length and a standard deviation of 0") {
  CHECK_THROWS_WITH_AS(channel_scale(3, 1, 0, {0.5}, {}),
                       "mean has 1 values: expected one for each of 3 channels", Error);
  CHECK_THROWS_AS(channel_scale(1, 1, 0, {}, {0}), Error);
}
