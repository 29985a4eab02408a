// SPDX-License-Identifier: Apache-2.0
// Stub for builds without libpng.
#include "libsten/core/base/error.h"
#include "libsten/data/image/codecs.h"

namespace sten::image_detail {

Dense decode_png(std::span<const std::byte>, const std::string& name, const ImageLimits&) {
  fail("{}: built without PNG support (rebuild with libpng)", name);
}

}  // namespace sten::image_detail
