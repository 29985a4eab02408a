// SPDX-License-Identifier: Apache-2.0
// Stub for builds without libjpeg.
#include "libsten/core/base/error.h"
#include "libsten/data/image/codecs.h"

namespace sten::image_detail {

Dense decode_jpeg(std::span<const std::byte>, const std::string& name, const ImageLimits&) {
  fail("{}: built without JPEG support (rebuild with libjpeg)", name);
}

}  // namespace sten::image_detail
