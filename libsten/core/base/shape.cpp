// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/shape.h"

#include <fmt/ranges.h>

#include "libsten/core/base/error.h"

namespace sten {

Index size_of(const Shape& shape) {
  Index n = 1;
  for (Index e : shape) n *= e;
  return n;
}

Index checked_size(const Shape& shape) {
  constexpr Index limit = Index{1} << 62;
  Index product = 1;
  bool empty = false;
  for (Index e : shape) {
    if (e < 0) fail("shape {}: expected extents >= 0", to_string(shape));
    if (e == 0) {
      empty = true;
    } else if (e > limit / product) {
      fail("shape {}: expected at most 2^62 elements", to_string(shape));
    } else {
      product *= e;
    }
  }
  return empty ? 0 : product;
}

std::string to_string(const Shape& shape) {
  constexpr std::size_t most = 64;  // no tensor has a higher rank, but a file may list more axes
  if (shape.size() <= most) return fmt::format("[{}]", fmt::join(shape, ", "));
  return fmt::format("[{}, ... {} in all]", fmt::join(shape.begin(), shape.begin() + 8, ", "),
                     shape.size());
}

}  // namespace sten
