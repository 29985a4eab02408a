// SPDX-License-Identifier: Apache-2.0
// Generated images of shapes, for trying convolutional networks without a download.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "libsten/data/examples.h"

namespace sten {

struct ShapesOptions {
  Index count = 2000;
  Index size = 16;   // pixels per side
  Index noise = 48;  // maximum that is added to or subtracted from a byte
  std::uint64_t seed = 0;
};

// By label. A mirrored shape is of the same class.
inline constexpr std::array<std::string_view, 10> shape_names{
    "disc", "ring", "square", "frame", "up", "down", "plus", "cross", "diamond", "bars"};

// Draws U8 [count, size, size, 3]. Image i has class i modulo 10: a shape of random position, size
// and colour on a background gradient, with noise. It depends only on seed, size, noise and i, and
// is the same on every machine. Error (usage) for a size outside of 8 to 256, a noise outside of 0
// to 255, or no images.
Examples draw_shapes(const ShapesOptions& options);

}  // namespace sten
