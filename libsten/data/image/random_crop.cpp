// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/random_crop.h"

#include <algorithm>
#include <cmath>

#include "libsten/core/base/random.h"

namespace sten {
namespace {

// As Python's round().
Index rounded(double x) { return static_cast<Index>(std::nearbyint(x)); }

ImageCrop central_crop(const RandomResizedCrop& c, Index height, Index width) {
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  Index h = height, w = width;
  if (ratio < c.ratio[0])
    h = rounded(static_cast<double>(width) / c.ratio[0]);
  else if (ratio > c.ratio[1])
    w = rounded(static_cast<double>(height) * c.ratio[1]);
  // A line of pixels can be too narrow for a ratio.
  h = std::clamp<Index>(h, 1, height);
  w = std::clamp<Index>(w, 1, width);
  return {(height - h) / 2, (width - w) / 2, h, w};
}

}  // namespace

ImageCrop random_crop(const RandomResizedCrop& c, Index height, Index width,
                      const std::function<double()>& draw) {
  const auto between = [&draw](double low, double high) { return low + (high - low) * draw(); };
  const auto below = [&draw](Index n) {
    return std::min(n - 1, static_cast<Index>(draw() * static_cast<double>(n)));
  };
  const double low = std::log(c.ratio[0]), high = std::log(c.ratio[1]);
  for (int tries = 0; tries < 10; ++tries) {
    const double area =
        static_cast<double>(height) * static_cast<double>(width) * between(c.scale[0], c.scale[1]);
    const double ratio = std::exp(between(low, high));
    const Index w = rounded(std::sqrt(area * ratio)), h = rounded(std::sqrt(area / ratio));
    if (w < 1 || w > width || h < 1 || h > height) continue;
    const Index top = below(height - h + 1), left = below(width - w + 1);
    return {top, left, h, w};
  }
  return central_crop(c, height, width);
}

ImageCrop random_crop(const RandomResizedCrop& c, Index height, Index width, std::uint64_t seed,
                      std::uint64_t number) {
  const std::uint64_t mine = random_bits(seed_for(seed, "crop"), number);
  return random_crop(c, height, width,
                     [mine, k = std::uint64_t{0}]() mutable { return random_uniform(mine, k++); });
}

}  // namespace sten
