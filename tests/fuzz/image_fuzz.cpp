// SPDX-License-Identifier: Apache-2.0
// Fuzz target: image files (PNG, JPEG, CIFAR).
#include <cstdint>
#include <span>

#include "libsten/data/image/cifar.h"
#include "libsten/data/image/image.h"
#include "tests/fuzz/fuzz.h"

using namespace sten;

namespace {

void image(fuzz::Bytes in) {
  const std::string_view file = in.rest();
  const ImageLimits limits{.pixels = 1 << 18};
  const Dense x = decode_image(std::as_bytes(std::span(file)), "input", limits);
  if (x.extents.size() != 3 || (x.extents[2] != 1 && x.extents[2] != 3))
    fuzz::broken("an image has other channels");
  const Index pixels = x.extents[0] * x.extents[1];
  if (pixels < 1 || pixels > limits.pixels) fuzz::broken("an image has too few or too many pixels");
  if (x.size() != size_of(x.extents)) fuzz::broken("the shape has other elements");
  // Every byte was written.
  unsigned sum = 0;
  for (const std::uint8_t v : x.values.as<std::uint8_t>()) sum += v;
  if (sum > 255u * static_cast<unsigned>(x.size())) fuzz::broken("a sum is too large");
}

void cifar(fuzz::Bytes in) {
  constexpr Index all[]{10, 20, 100};
  const Index classes = in.one_of(all);
  const std::string_view file = in.rest();
  const Examples e = parse_cifar(std::as_bytes(std::span(file)), "input", classes);
  if (e.count() < 1 || e.features.size() > static_cast<Index>(file.size()))
    fuzz::broken("more pixels than bytes");
  for (const std::int64_t y : e.labels.values.as<std::int64_t>())
    if (y < 0 || y >= classes) fuzz::broken("a label is not a class");
}

}  // namespace

// The first byte selects the kind of file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes in(data, size);
  const auto kind = in.below(2);
  fuzz::accepted([&] { kind == 0 ? image(in) : cifar(in); });
  return 0;
}
