// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/image_limits.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {

void image_detail::check_pixels(Index height, Index width, const std::string& name,
                                const ImageLimits& limits, std::size_t bytes,
                                Index pixels_per_byte) {
  // No overflow: both are below 2^31 in every format.
  if (height * width > limits.pixels)
    fail("{}: {} x {} pixels are more than {}", name, width, height, limits.pixels);
  if (height * width / pixels_per_byte > static_cast<Index>(bytes))
    fail("{}: {} x {} pixels do not fit {} bytes", name, width, height, bytes);
}

void image_detail::check_decoding(Index takes, const std::string& name, const ImageLimits& limits,
                                  std::size_t bytes) {
  if (takes > 3 * limits.pixels + 16 * static_cast<Index>(bytes))
    fail("{}: decoding needs {}, too much for a file of {} bytes", name,
         human_bytes(static_cast<std::uint64_t>(takes)), bytes);
  if (limits.before_decoding) limits.before_decoding(takes);
}

}  // namespace sten
