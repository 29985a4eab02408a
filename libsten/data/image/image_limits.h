// SPDX-License-Identifier: Apache-2.0
// Limits of decoded images.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "libsten/core/tensor/dense.h"

namespace sten {

struct ImageLimits {
  Index pixels = Index{1} << 26;  // height x width
  // Called once before an image is decoded, with the bytes that decoding needs; may block.
  std::function<void(Index bytes)> before_decoding = {};
};

// An uninitialized image.
inline Dense unwritten_image(Index height, Index width, Index channels) {
  return {{height, width, channels}, Values::uninitialized(DType::U8, height * width * channels)};
}

namespace image_detail {

// Error for more pixels than the limit, or than `pixels_per_byte` times the bytes of the file.
void check_pixels(Index height, Index width, const std::string& name, const ImageLimits& limits,
                  std::size_t bytes, Index pixels_per_byte);

// Checks the memory for decoding: at most that of an image of three channels with as many pixels as
// the limit, plus 16 times the file. Reports the bytes to the caller.
void check_decoding(Index takes, const std::string& name, const ImageLimits& limits,
                    std::size_t bytes);

}  // namespace image_detail

}  // namespace sten
