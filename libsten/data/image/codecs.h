// SPDX-License-Identifier: Apache-2.0
// Decoders of PNG and JPEG, by libpng and libjpeg; absent/ has stubs for missing libraries.
#pragma once
#include <span>

#include "libsten/data/image/image_limits.h"

namespace sten::image_detail {

// `name` is printable. See decode_image().
Dense decode_png(std::span<const std::byte> file, const std::string& name,
                 const ImageLimits& limits);
Dense decode_jpeg(std::span<const std::byte> file, const std::string& name,
                  const ImageLimits& limits);

}  // namespace sten::image_detail
