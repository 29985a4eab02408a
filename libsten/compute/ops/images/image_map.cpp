// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/images/image_map.h"

#include "libsten/core/base/error.h"

namespace sten {

ImageMap::ImageMap(std::string_view op, const Shape& x) : axes(x.size() < 2 ? 0 : x.size() - 2) {
  if (axes < 1 || axes > 3 ||
      std::any_of(x.begin() + 1, x.end() - 1, [](Index n) { return n < 1; }))
    fail_usage("{}: x must be [N, spatial..., C] with 1 to 3 spatial axes, got {}", op,
               to_string(x));
  batch = x.front();
  channels = x.back();
  std::copy(x.begin() + 1, x.end() - 1, size.begin() + static_cast<std::ptrdiff_t>(first()));
}

Shape ImageMap::shape() const {
  Shape s{batch};
  s.insert(s.end(), result.begin() + static_cast<std::ptrdiff_t>(first()), result.end());
  s.push_back(channels);
  checked_size(s);
  return s;
}

}  // namespace sten
