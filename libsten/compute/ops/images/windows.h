// SPDX-License-Identifier: Apache-2.0
// Windows over the spatial axes of x [N, spatial..., C], one per output position.
#pragma once
#include "libsten/compute/ops/images/image_map.h"

namespace sten {

// The elements of a window along one axis: first, first + step, ..., within x; `counted` includes
// those in the padding.
struct WindowRun {
  Index first, count, step, counted;

  Index last() const { return first + (count - 1) * step; }
};

// A window along one axis; adaptive ones set only `is_adaptive`.
struct WindowAxis {
  Index kernel, stride, dilation, before, after;
  bool is_adaptive;
};

class Windows : public ImageMap {
 public:
  // Windows by kernel, strides, pads, dilations and ceil; or adaptive, by the size of the result.
  // Error (usage) if they do not fit x. Attributes named `more` are also allowed.
  static Windows sliding(std::string_view op, const Shape& x, const Attributes& a,
                         std::initializer_list<std::string_view> more);
  static Windows adaptive(std::string_view op, const Shape& x, const Attributes& a);

  WindowAxis axis(std::size_t d) const {
    return {kernel_[d], stride_[d], dilation_[d], before_[d], after_[d], is_adaptive_};
  }
  // The window of output position o along axis d. Its count is 0 if it has no element of x.
  WindowRun along(std::size_t d, Index o) const;
  // Collects the offsets in the image (of the first channel) of x's elements in the window at o, in
  // row-major order. Returns the number of elements, with or without padding.
  Index taps(const std::array<Index, 3>& o, bool count_pads, std::vector<Index>& to) const;
  // For gather_positions().
  std::pair<Index, Index> reach(Index o) const {
    const WindowRun r = along(first(), o);
    return {r.first, r.last()};
  }

 private:
  using ImageMap::ImageMap;

  std::array<Index, 3> kernel_{1, 1, 1}, stride_{1, 1, 1}, dilation_{1, 1, 1}, before_{}, after_{};
  bool is_adaptive_ = false;
};

}  // namespace sten
