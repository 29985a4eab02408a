// SPDX-License-Identifier: Apache-2.0
// Images in PNG and JPEG files.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "libsten/data/image/image_limits.h"

namespace sten {

// Decodes an image to U8 [height, width, channels] with 1 channel (grey) or 3 (red, green, blue).
// The first bytes tell the format, not the name.
//
// Palettes are expanded; samples below 8 bits are scaled to 255, 16-bit samples keep their upper 8
// bits; alpha is dropped; CMYK is read as Adobe's inverted inks. Profiles, gamma and EXIF
// orientation are ignored. Equals Pillow's convert("RGB"), except for 16-bit grey.
//
// Error with the file for another format, damage or truncation, more pixels than the limit, sizes,
// work or memory out of proportion to the file, and a missing library.
Dense decode_image(std::span<const std::byte> file, const std::string& file_name,
                   const ImageLimits& limits = {});
Dense read_image(const std::string& path, const ImageLimits& limits = {});

// Converts to 1 or 3 channels. Grey is 0.299 R + 0.587 G + 0.114 B, rounded.
Dense with_channels(const Dense& image, Index channels);

}  // namespace sten
