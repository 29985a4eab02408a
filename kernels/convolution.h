// SPDX-License-Identifier: Apache-2.0
// The extents of a convolution.
#pragma once
#include <array>
#include <cstdint>

namespace sten::kernels {

// A convolution of channels-last activations: x [batch, size..., in], w [out, in / groups,
// kernel...], y [batch, result..., out]. There are always three spatial axes: an unused axis has
// extent 1 in size and kernel. Along an axis, output position o reads positions o * stride - before
// + t * dilation of x for t < kernel; positions outside of x are 0.
struct Convolution {
  using Index = std::int64_t;
  using Axes = std::array<Index, 3>;
  Index batch = 1, in = 1, out = 1, groups = 1;
  Axes size{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, before{},
      result{1, 1, 1};

  Index pixels() const { return size[0] * size[1] * size[2]; }                  // of one image of x
  Index output_positions() const { return result[0] * result[1] * result[2]; }  // of one image of y
  Index taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  Index group_in() const { return in / groups; }
  Index group_out() const { return out / groups; }
  friend bool operator==(const Convolution&, const Convolution&) = default;
};

}  // namespace sten::kernels
