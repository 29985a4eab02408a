// Decoders of PNG and JPEG, by libpng and libjpeg; absent/ replaces a library that the build did not find.
#pragma once
#include "libsten/data/image/image.h"

namespace sten::image_detail {

// `name` is printable. See decode_image().
Dense decode_png(std::span<const std::byte> file, const std::string& name,
                 const ImageLimits& limits);
Dense decode_jpeg(std::span<const std::byte> file, const std::string& name,
                  const ImageLimits& limits);

// Error for more pixels than the limit, or than so many bytes of file can have where
// each has `pixels_per_byte` at most.
void check_pixels(Index height, Index width, const std::string& name, const ImageLimits& limits,
                  std::size_t bytes, Index pixels_per_byte);

// The bytes that decoding takes are within what a file of this size may: those of an image of three
// channels and as many pixels as the limit, and 16 times the file. Says them to the caller.
void check_decoding(Index takes, const std::string& name, const ImageLimits& limits,
                    std::size_t bytes);

}  // namespace sten::image_detail
