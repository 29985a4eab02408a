// Stub for builds without libjpeg.
#include "libsten/base/error.h"
#include "libsten/data/image/codecs.h"

namespace sten::image_detail {

Dense decode_jpeg(std::span<const std::byte>, const std::string& name, const ImageLimits&) {
  fail("{}: is a JPEG image, and this program was built without libjpeg", name);
}

}  // namespace sten::image_detail
