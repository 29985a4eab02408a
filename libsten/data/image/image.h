// Images in PNG and JPEG files.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "libsten/tensor/dense.h"

namespace sten {

struct ImageLimits {
  Index pixels = Index{1} << 26;  // height x width
  // Called once, before an image is decoded, with the bytes that takes; may wait.
  std::function<void(Index bytes)> before_decoding = {};
};

// U8 [height, width, channels]: 1 channel of grey, or red, green and blue. Which format it is, the
// first bytes say, not the name.
//
// Palettes become colours, samples of fewer than 8 bits are stretched to 255, of 16 bits the upper 8
// stay, alpha is left out, CMYK is taken for Adobe's, whose inks are inverted. Profiles, gamma and
// EXIF orientation are ignored. So Pillow's convert("RGB") has them, but for 16 bits of grey.
//
// Error with the file where it is neither, is damaged or cut off, has more pixels than the limit,
// or claims more than its bytes can hold, or takes more work or memory than they allow; and where the library that reads it is not there.
Dense decode_image(std::span<const std::byte> file, const std::string& file_name,
                   const ImageLimits& limits = {});
Dense read_image(const std::string& path, const ImageLimits& limits = {});

// The same image with 1 channel or 3. Grey is 0.299 R + 0.587 G + 0.114 B, rounded.
Dense with_channels(const Dense& image, Index channels);

// For what writes each of its bytes.
inline Dense unwritten_image(Index height, Index width, Index channels) {
  return {{height, width, channels}, Values::uninitialized(DType::U8, height * width * channels)};
}

}  // namespace sten
