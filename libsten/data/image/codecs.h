// Decoders of PNG and JPEG, by libpng and libjpeg; absent/ has stubs for missing libraries.
#pragma once
#include "libsten/data/image/image.h"

namespace sten::image_detail {

// `name` is printable. See decode_image().
Dense decode_png(std::span<const std::byte> file, const std::string& name,
                 const ImageLimits& limits);
Dense decode_jpeg(std::span<const std::byte> file, const std::string& name,
                  const ImageLimits& limits);

// Error for more pixels than the limit, or than `pixels_per_byte` times the bytes of the file.
void check_pixels(Index height, Index width, const std::string& name, const ImageLimits& limits,
                  std::size_t bytes, Index pixels_per_byte);

// Checks the memory for decoding: at most that of an image of three channels with as many pixels as
// the limit, plus 16 times the file. Reports the bytes to the caller.
void check_decoding(Index takes, const std::string& name, const ImageLimits& limits,
                    std::size_t bytes);

}  // namespace sten::image_detail
