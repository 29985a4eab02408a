// SPDX-License-Identifier: Apache-2.0
// Random crops equal torchvision's RandomResizedCrop, and their pixels Pillow's
// (random_crop_reference.py).
#include "libsten/data/image/random_crop.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "libsten/data/image/image.h"

using namespace sten;

namespace {

nlohmann::json reference() {
  std::ifstream in(STEN_SOURCE_DIR "/tests/data/random_crops.json");
  return nlohmann::json::parse(in);
}
std::vector<Index> numbers_in(const ImageCrop& c) { return {c.top, c.left, c.height, c.width}; }

// As in the script.
Dense made_image(Index height, Index width) {
  Dense image = unwritten_image(height, width, 3);
  std::uint8_t* out = image.values.mutate<std::uint8_t>().data();
  for (Index y = 0; y < height; ++y)
    for (Index x = 0; x < width; ++x)
      for (Index c = 0; c < 3; ++c)
        *out++ = static_cast<std::uint8_t>((37 * y + 91 * x + 53 * c + 11 * x * y) % 256);
  return image;
}

}  // namespace

TEST_CASE("random crops match torchvision's RandomResizedCrop for the same random numbers") {
  const nlohmann::json all = reference();
  for (const auto& c : all.at("crops")) {
    CAPTURE(c.dump());
    const RandomResizedCrop how{c.at("scale"), c.at("ratio")};
    const ImageCrop crop = random_crop(how, c.at("height"), c.at("width"),
                                       c.at("seed").get<std::uint64_t>(), c.at("number"));
    CHECK(numbers_in(crop) == c.at("crop").get<std::vector<Index>>());
  }
}

TEST_CASE("resized crops are bit-identical to Pillow's, with axes that shrink or grow") {
  const nlohmann::json all = reference();
  for (const auto& r : all.at("resized")) {
    const auto crop = r.at("crop").get<std::vector<Index>>();
    CAPTURE(r.at("crop").dump());
    const Index size = r.at("size");
    const Dense y = resized(made_image(r.at("height"), r.at("width")),
                            {crop[0], crop[1], crop[2], crop[3]}, size, size);
    const auto pixels = y.values.as<std::uint8_t>();
    CHECK(std::vector<int>(pixels.begin(), pixels.end()) == r.at("pixels").get<std::vector<int>>());
  }
}

TEST_CASE("random crops stay inside images of any size, down to one pixel") {
  for (const auto& [height, width] :
       {std::pair<Index, Index>{1, 1}, {1, 900}, {900, 1}, {2, 3}, {17, 5}})
    for (std::uint64_t i = 0; i < 200; ++i) {
      const ImageCrop c = random_crop({}, height, width, 3, i);
      REQUIRE((c.height >= 1 && c.width >= 1 && c.top >= 0 && c.left >= 0));
      REQUIRE((c.top + c.height <= height && c.left + c.width <= width));
    }
}
