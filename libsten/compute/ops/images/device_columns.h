// SPDX-License-Identifier: Apache-2.0
// im2col on a device, for some output positions at a time.
#pragma once
#include "libsten/compute/ops/images/conv.h"
#include "libsten/core/base/cuda.h"

namespace sten {

// Unsupported if the extents of c exceed the device's windows. For 1x1 kernels of stride 1, x is
// its columns. c must outlive this object.
class DeviceColumns {
 public:
  // Columns by channel are for weights in their stored order; for others see ColumnSegment.
  explicit DeviceColumns(const Convolution& c, bool by_channel = false);

  // The length of a row.
  Index length() const { return c_.in * c_.taps(); }
  // Calls f(first row, rows, their columns) for segments of x, in order.
  template <class F>
  void each(const float* x, F&& f) {
    if (is_x_) return whole(x, f);
    each_segment([&](const kernels::ColumnSegment& p) {
      make(p, x);
      f(first_row(p), p.rows(), static_cast<const float*>(memory_));
    });
  }
  // The gradient of x from the columns that `f` writes.
  template <class F>
  void sum(float* dx, F&& f) {
    if (is_x_) return whole(dx, f);
    each_segment([&](const kernels::ColumnSegment& p) {
      f(first_row(p), p.rows(), memory_);
      sum_segment(p, dx);
    });
  }

 private:
  template <class T, class F>
  void whole(T* x, F& f) const {
    if (c_.batch > 0) f(Index{0}, c_.batch * c_.output_positions(), x);
  }
  Index first_row(const kernels::ColumnSegment& p) const {
    return p.image * c_.output_positions() + p.place;
  }
  template <class F>
  void each_segment(F&& f) const {
    const Index output_positions = c_.output_positions();
    for (Index image = 0; image < c_.batch; image += images_)
      for (Index place = 0; place < output_positions; place += output_positions_)
        f(kernels::ColumnSegment{image, std::min(images_, c_.batch - image), place,
                                 std::min(output_positions_, output_positions - place),
                                 by_channel_});
  }
  void make(const kernels::ColumnSegment& p, const float* x) const;
  void sum_segment(const kernels::ColumnSegment& p, float* dx) const;

  const Convolution& c_;
  bool by_channel_, is_x_;
  Index images_ = 1, output_positions_ = 1;  // at once: images, or positions in one image
  Values columns_;
  float* memory_ = nullptr;
};

// Transposes weights w[out, in / groups, taps] to [out, taps, in / groups], the order of columns,
// or back.
void transpose_weights(const Convolution& c, bool back, const float* from, float* to);
// Whether both orders are the same.
bool is_transposed_alike(const Convolution& c);

}  // namespace sten
