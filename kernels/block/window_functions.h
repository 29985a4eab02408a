// SPDX-License-Identifier: Apache-2.0
// im2col on a device: windows of images for convolutions, and their gradient. The rules of
// functions.h for pointers, streams and bits apply. Elements are float32. An image has fewer than
// 2^31 positions; along an axis, a window and its reach have fewer than 2^30 elements.
#pragma once
#include "kernels/block/grid.h"
#include "kernels/convolution.h"

namespace sten::kernels {

// A range of output positions of a range of images. `columns` has one row per output position, with
// the in * taps elements of its window in x: for each group all channels of the first tap, then of
// the next tap, as a row of w [out, taps, in / groups]; with by_channel all taps of each channel,
// as a row of w in its stored order, for one group. Elements outside of x are 0.
struct ColumnSegment {
  std::int64_t image = 0, images = 0;
  std::int64_t place = 0, output_positions = 0;  // in each image
  bool by_channel = false;

  std::int64_t rows() const { return images * output_positions; }
};

struct WindowFunctions {
  // columns [images * output_positions, in * taps], fewer than 2^31 elements.
  void (*make_columns)(const Convolution&, const ColumnSegment&, const float* x, float* columns,
                       Stream);
  // dx of the segment's images, fewer than 2^31 elements: the sum, for each element, of its copies
  // in columns, in ascending order of windows. With `adds`, dx is incremented.
  void (*sum_columns)(const Convolution&, const ColumnSegment&, const float* columns, bool adds,
                      float* dx, Stream);
  // to[n, b, a] = from[n, a, b] transposed, plus bias[a] unless it is nullptr.
  void (*transpose)(std::int64_t n, std::int64_t a, std::int64_t b, const float* from,
                    const float* bias, float* to, Stream);
  // y[n] = max(y + more, 0); more = nullptr: 0. NaN stays NaN.
  void (*add_relu)(std::int64_t n, const float* more, float* y, Stream);
};

}  // namespace sten::kernels
