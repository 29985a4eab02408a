// Windows over the spatial axes of x [N, spatial..., C]. Each makes one place of the result.
#pragma once
#include "libsten/ops/image_map.h"

namespace sten {

// The elements of a window along one axis: first, first + step, ... Of those beyond x, which are
// left out, `counted` has the ones in the padding.
struct WindowRun {
  Index first, count, step, counted;

  Index last() const { return first + (count - 1) * step; }
};

// Of one axis: adaptive ones have only `is_adaptive`.
struct WindowAxis {
  Index kernel, stride, dilation, before, after;
  bool is_adaptive;
};

template <bool is_adaptive, bool is_max>
constexpr const char* pool_name =
    is_adaptive ? is_max ? "adaptive-max-pool" : "adaptive-average-pool"
    : is_max    ? "max-pool"
                : "average-pool";

class Windows : public ImageMap {
 public:
  // By kernel, strides, pads, dilations and ceil; or, adaptive, by the size of the result. Error
  // (usage) for what does not fit x. Attributes named `more` may be there too.
  static Windows sliding(std::string_view op, const Shape& x, const Attributes& a,
                         std::initializer_list<std::string_view> more);
  static Windows adaptive(std::string_view op, const Shape& x, const Attributes& a);

  WindowAxis axis(std::size_t d) const {
    return {kernel_[d], stride_[d], dilation_[d], before_[d], after_[d], is_adaptive_};
  }
  // Of place o of the result along axis d. Where a window has nothing of x, its count is 0.
  WindowRun along(std::size_t d, Index o) const;
  // What x has of the window at o, in row-major order: where its first channels are in the image.
  // Gives how many elements count, with those of the padding or without.
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

// Of such a pool.
template <bool is_adaptive, bool is_max>
Windows pool_windows(std::string_view op, const Shape& x, const Attributes& a) {
  if (is_adaptive) return Windows::adaptive(op, x, a);
  return is_max ? Windows::sliding(op, x, a, {}) : Windows::sliding(op, x, a, {"count-pads"});
}

}  // namespace sten
