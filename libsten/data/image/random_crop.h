// SPDX-License-Identifier: Apache-2.0
// Random crops of images, as torchvision's RandomResizedCrop draws them.
#pragma once
#include <array>
#include <cstdint>
#include <functional>

#include "libsten/data/image/resize.h"

namespace sten {

struct RandomResizedCrop {
  std::array<double, 2> scale{0.08, 1};           // share of the image's area, from and to
  std::array<double, 2> ratio{3.0 / 4, 4.0 / 3};  // width / height, from and to
};

// RandomResizedCrop.get_params() of torchvision, in double: draws an area, uniform in `scale`, and a
// ratio, uniform in its logarithm; then, if the crop fits the image, its first row and column. If
// ten crops do not fit, the crop is the largest central one whose ratio is in range. `draw` returns
// uniform values in [0, 1).
ImageCrop random_crop(const RandomResizedCrop& c, Index height, Index width,
                      const std::function<double()>& draw);

// The crop of image `number`. Depends only on seed, number and the image's size: draw k is
// random_uniform(random_bits(seed_for(seed, "crop"), number), k).
ImageCrop random_crop(const RandomResizedCrop& c, Index height, Index width, std::uint64_t seed,
                      std::uint64_t number);

}  // namespace sten
