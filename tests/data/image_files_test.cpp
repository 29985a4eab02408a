// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/image_files.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

#include "tests/support/image_files.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// An RGB image without symmetry.
std::string made_png(std::uint32_t width, std::uint32_t height, int first) {
  std::string pixels;
  for (std::uint32_t i = 0; i < 3 * width * height; ++i)
    pixels += static_cast<char>((static_cast<std::uint32_t>(first) + 31 * i + i * i / 7) % 251);
  return PngFile{width, height, 8, 2, pixels}.bytes();
}

// Six images of different sizes.
class SomeImages {
 public:
  SomeImages() {
    for (int i = 0; i < 6; ++i) {
      const std::string name = fmt::format("{}.png", i);
      const auto n = static_cast<std::uint32_t>(i);
      paths.push_back({dir.write(name, made_png(12 + n, 20 - 2 * n, i)), i % 2});
    }
  }
  ImageFiles files() const { return {dir.path(), paths, {.size = 8, .resize = 9}}; }

  TempDir dir;
  std::vector<ImageFiles::File> paths;
};

const ChannelScale by = channel_scale(3, 1.0 / 255, 0, {0.5, 0.4, 0.3}, {0.2, 0.25, 0.3});
const std::vector<Index> chosen{4, 0, 5, 5, 1};

}  // namespace

TEST_CASE("images decoded per batch are bit-identical to preloaded images") {
  if (!reads_png()) return;
  const SomeImages some;
  const ImageFiles files = some.files();
  CHECK(files.extents() == Shape{6, 8, 8, 3});
  const Examples held = read_images(files);
  const Augmentation padded{.crop_padding = 2, .mirror = true, .seed = 7};
  const std::vector<std::uint64_t> numbers{16, 12, 17, 17, 13};
  std::vector<ImageView> views;
  for (const std::uint64_t i : numbers) views.push_back(view_of(padded, i));
  for (const int team : {1, 3})
    for (const bool channels_first : {false, true}) {
      const Threads several(team);
      CHECK(same_bits(images_of(files, chosen, by, {}, {}, channels_first),
                      images_of(held.features, chosen, by, {}, channels_first)));
      CHECK(same_bits(images_of(files, chosen, by, padded, numbers, channels_first),
                      images_of(held.features, chosen, by, views, channels_first)));
    }
}

TEST_CASE("random crops are taken from the full image, independent of threads and batch") {
  if (!reads_png()) return;
  const SomeImages some;
  const ImageFiles files = some.files();
  const Augmentation random{.mirror = true, .seed = 7, .resized_crop = RandomResizedCrop{}};
  const std::vector<std::uint64_t> numbers{16, 12, 17, 23, 13};
  const Dense y = images_of(files, chosen, by, random, numbers, false);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Threads several(3);
    const Dense one = images_of(files, std::span(chosen).subspan(i, 1), by, random,
                                std::span(numbers).subspan(i, 1), false);
    CHECK(std::memcmp(y.values.bytes().data() + i * one.values.bytes().size(),
                      one.values.bytes().data(), one.values.bytes().size()) == 0);
    const Dense image = read_image(some.paths[chosen[i]].path);
    const ImageCrop crop = random_crop({}, image.extents[0], image.extents[1], 7, numbers[i]);
    Dense wanted = resized(image, crop, 8, 8);
    wanted.extents.insert(wanted.extents.begin(), 1);
    CHECK(same_bits(one, images_of(wanted, std::vector<Index>{0}, by,
                                   std::vector{view_of(random, numbers[i])}, false)));
  }
  // Image 5 occurs twice, with different numbers.
  const auto v = y.values.as<float>();
  CHECK_FALSE(std::equal(v.begin() + 2 * 192, v.begin() + 3 * 192, v.begin() + 3 * 192));
}

TEST_CASE("the first unreadable file in order is reported at any thread count") {
  if (!reads_png()) return;
  const SomeImages some;
  const ImageFiles files = some.files();
  some.dir.write("5.png", made_png(9, 9, 1).substr(0, 90));
  std::filesystem::remove(some.dir / "0.png");
  for (const int team : {1, 2, 4}) {
    const Threads several(team);
    CHECK(error_of([&] { images_of(files, chosen, by, {}, {}, false); }) ==
          some.dir / "0.png" + ": No such file or directory");
    CHECK(error_of([&] {
            images_of(files, std::vector<Index>{2, 5, 0}, by, {}, {}, false);
          }) == some.dir / "5.png" + ": damaged PNG image: truncated");
  }
}

TEST_CASE("the hash of image files depends on names, sizes and labels, not on the folder's path") {
  const SomeImages some, same;
  const std::uint64_t hash = some.files().hashed(1);
  CHECK(same.files().hashed(1) == hash);
  CHECK(same.files().hashed(2) != hash);
  SomeImages other;
  other.paths[3].label = 0;
  CHECK(other.files().hashed(1) != hash);
  const SomeImages longer;
  longer.dir.write("3.png", "longer");
  CHECK(longer.files().hashed(1) != hash);
  std::filesystem::remove(some.dir / "2.png");
  CHECK(error_of([&] { some.files().hashed(1); }) ==
        some.dir / "2.png" + ": No such file or directory");
}
