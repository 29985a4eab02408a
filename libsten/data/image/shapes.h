// Images of shapes, drawn rather than read: something to try a convolutional network on that needs no
// download.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "libsten/data/examples.h"

namespace sten {

struct ShapesOptions {
  Index count = 2000;
  Index size = 16;   // pixels a side
  Index noise = 48;  // at most so much is added to a byte, or taken away
  std::uint64_t seed = 0;
};

// By label. A mirrored shape is one of the same class.
inline constexpr std::array<std::string_view, 10> shape_names{
    "disc", "ring", "square", "frame", "up", "down", "plus", "cross", "diamond", "bars"};

// U8 [count, size, size, 3], image i of class i modulo 10: a shape at some place, of some size and
// colour, on a background that changes from one side to the other, with noise. Image i depends on the
// seed, the size, the noise and i alone, and is the same on every machine. Error (usage) for a size
// below 8 or above 256, a noise outside of 0 to 255, or no images.
Examples draw_shapes(const ShapesOptions& options);

}  // namespace sten
