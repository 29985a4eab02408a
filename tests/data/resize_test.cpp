// SPDX-License-Identifier: Apache-2.0
// Image resizing equals Pillow's resize(BILINEAR), and torchvision's Resize and CenterCrop.
#include "libsten/data/image/resize.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "tests/support/tensors.h"

using namespace sten;

namespace {

// Pixels that have no symmetry.
Dense made_image(Index h, Index w, Index channels) {
  Dense image = Dense::zeros(DType::U8, {h, w, channels});
  std::uint8_t* out = image.values.mutate<std::uint8_t>().data();
  for (Index y = 0; y < h; ++y)
    for (Index x = 0; x < w; ++x)
      for (Index c = 0; c < channels; ++c)
        *out++ = static_cast<std::uint8_t>((37 * y + 91 * x + 53 * c + 11 * x * y) % 256);
  return image;
}
std::vector<int> values_in(const Dense& image) {
  const auto v = image.values.as<std::uint8_t>();
  return {v.begin(), v.end()};
}
int sum_of_values(const Dense& image) {
  const std::vector<int> v = values_in(image);
  return std::accumulate(v.begin(), v.end(), 0);
}

}  // namespace

TEST_CASE("resized images match Pillow's") {
  CHECK(values_in(resized(made_image(7, 9, 1), 3, 4)) ==
        std::vector<int>{104, 119, 121, 155, 133, 131, 135, 146, 133, 112, 120, 122});
  CHECK(values_in(resized(made_image(3, 2, 1), 5, 4)) ==
        std::vector<int>{0,   23,  68, 91, 15,  39,  86, 110, 37,  63,
                         114, 139, 59, 86, 141, 168, 74, 102, 159, 187});
  CHECK(values_in(resized(made_image(4, 5, 3), 2, 3)) ==
        std::vector<int>{69, 122, 159, 147, 139, 115, 102, 155, 130, 134, 140, 146, 138, 122, 126,
                         118, 124, 109});
  const Dense large = resized(made_image(233, 197, 3), 61, 50);
  CHECK(large.extents == Shape{61, 50, 3});
  CHECK(sum_of_values(large) == 1163593);
}

TEST_CASE("resizing or center-cropping to the same size returns the image unchanged") {
  const Dense image = made_image(5, 8, 3);
  CHECK(testing::same_bits(resized(image, 5, 8), image));
  CHECK(testing::same_bits(centre_of(made_image(6, 6, 3), 6, 6), made_image(6, 6, 3)));
}

TEST_CASE("resizing one region gives the same pixels as resizing the whole image") {
  const Dense image = made_image(31, 23, 3), whole = resized(image, 17, 40);
  const Dense part = resized(image, {0, 0, 31, 23}, 17, 40, {5, 9, 7, 20});
  for (Index y = 0; y < 7; ++y)
    for (Index k = 0; k < 60; ++k)
      REQUIRE(part.values.as<std::uint8_t>()[y * 60 + k] ==
              whole.values.as<std::uint8_t>()[(y + 5) * 120 + 27 + k]);
}

TEST_CASE("the center crop matches torchvision's") {
  const struct {
    Index h, w, shorter, size;
    int sum;
    std::vector<int> first_row;
  } cases[] = {
      {9, 14, 6, 4, 2131, {115, 116, 171, 147}},
      {14, 9, 6, 4, 2109, {133, 135, 137, 142}},
      {8, 8, 8, 5, 3120, {44, 157, 14, 127, 240}},
      {11, 20, 7, 6, 4883, {113, 148, 126, 135, 147, 168}},
      {13, 30, 5, 5, 3145, {130, 135, 133, 131, 104}},
      {10, 17, 10, 9, 10892, {108, 199, 34, 125, 216, 51, 142, 233, 68}},
  };
  for (const auto& c : cases) {
    const Dense middle = centre_of(made_image(c.h, c.w, 1), c.shorter, c.size);
    CHECK(middle.extents == Shape{c.size, c.size, 1});
    CHECK(sum_of_values(middle) == c.sum);
    const std::vector<int> all = values_in(middle);
    CHECK(std::vector<int>(all.begin(), all.begin() + c.size) == c.first_row);
  }
}

TEST_CASE("an image one pixel high can be resized and center-cropped to a square") {
  const Dense line = made_image(1, 60000, 1);
  CHECK(centre_of(line, 200, 200).extents == Shape{200, 200, 1});
}
