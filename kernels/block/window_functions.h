// What a device does with windows over images, for convolutions: their columns, and what becomes of
// these.
// What functions.h says of pointers, streams and bits holds here, too. All elements are floats. An
// image has fewer than 2^31 places; a window and what it may reach, along an axis, fewer than 2^30
// elements.
#pragma once
#include "kernels/block/grid.h"
#include "kernels/convolution.h"

namespace sten::kernels {

// Some places of some images of y. Its columns have a row for each, in * taps elements that are the
// window of x there: of each group all channels of the first tap, then of the next one, as a row of
// w [out, taps, in / groups]; or by_channel, all taps of each channel, as a row of w as it is stored,
// of one group. What is outside of x is 0.
struct ColumnSegment {
  std::int64_t image = 0, images = 0;
  std::int64_t place = 0, output_positions = 0;  // of each of the images
  bool by_channel = false;

  std::int64_t rows() const { return images * output_positions; }
};

struct WindowFunctions {
  // Fewer than 2^31 elements of columns.
  void (*make_columns)(const Convolution&, const ColumnSegment&, const float* x, float* columns,
                       Stream);
  // dx of the piece's images, fewer than 2^31 elements: for each the sum of its places in columns, in
  // ascending order of windows, added to what there is if `adds`.
  void (*sum_columns)(const Convolution&, const ColumnSegment&, const float* columns, bool adds,
                      float* dx, Stream);
  // to[n, b, a] of from[n, a, b], plus bias[a], which may be nullptr.
  void (*transpose)(std::int64_t n, std::int64_t a, std::int64_t b, const float* from,
                    const float* bias, float* to, Stream);
  // y[n] = what is above 0 of y + more, which may be nullptr. NaN stays.
  void (*add_relu)(std::int64_t n, const float* more, float* y, Stream);
};

}  // namespace sten::kernels
