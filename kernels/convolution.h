// A convolution's extents, as its kernels see them.
#pragma once
#include <array>
#include <cstdint>

namespace sten::kernels {

// Of channels-last activations: x [batch, size..., in] and w [out, in / groups, kernel...] make y
// [batch, result..., out]. Three spatial axes; one that is not there has the extent 1, and so has
// the kernel. Element o of an axis of y is made of the elements o * stride - before + t * dilation
// of x for t < kernel; those that are outside of x are 0.
struct Convolution {
  using Index = std::int64_t;
  using Axes = std::array<Index, 3>;
  Index batch = 1, in = 1, out = 1, groups = 1;
  Axes size{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, before{},
      result{1, 1, 1};

  Index pixels() const { return size[0] * size[1] * size[2]; }  // of x, of one image
  Index output_positions() const {
    return result[0] * result[1] * result[2];
  }  // of y, of one image
  Index taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  Index group_in() const { return in / groups; }
  Index group_out() const { return out / groups; }
  friend bool operator==(const Convolution&, const Convolution&) = default;
};

}  // namespace sten::kernels
