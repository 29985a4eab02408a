// SPDX-License-Identifier: Apache-2.0
// Maps from images x [N, spatial..., C] to images of other spatial extents, and their gradients.
#pragma once
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "libsten/compute/ops/common/output.h"

namespace sten {

// The spatial axes are the last of three; the others have extent 1.
struct ImageMap {
  Index batch = 0, channels = 0;
  std::array<Index, 3> size{1, 1, 1}, result{1, 1, 1};
  std::size_t axes = 0;

  // Error (usage) unless x has 1 to 3 nonempty spatial axes. The caller sets `result`.
  ImageMap(std::string_view op, const Shape& x);
  // Shape of the result. Error (usage) if its size overflows.
  Shape shape() const;
  std::size_t first() const { return 3 - axes; }  // the first spatial axis, of three
  Index image() const { return size[0] * size[1] * size[2] * channels; }
  Index output_positions() const { return result[0] * result[1] * result[2]; }
  // Size of a slab: one step along the first spatial axis.
  Index slab() const { return image() / size[first()]; }
  // Slabs per thread in the gradient: a divisor of their number, such that all images have at least
  // 64 parts. Output positions in the reach of two parts are visited twice.
  Index slabs_at_once() const {
    const Index n = size[first()];
    Index k = std::clamp<Index>(batch * n / 64, 1, n);
    while (n % k != 0) --k;
    return k;
  }
  std::array<Index, 3> place(Index p) const {
    return {p / (result[1] * result[2]), p / result[2] % result[1], p % result[2]};
  }
};

// Calls f(o, image, T* to) for each output position o, to write its channels. `image`: the offset
// of o's image in x.
template <class T, class F>
Tensor write_positions(const OutFormat& format, const ImageMap& m, F f) {
  return write_elements<T>(
      format, m.shape(), std::max<Index>(1, m.channels), [&](Index begin, Index end, T* to) {
        for (Index p = begin / m.channels; p < end / m.channels; ++p) {
          f(m.place(p % m.output_positions()), p / m.output_positions() * m.image(), to);
          to += m.channels;
        }
      });
}

// The gradient of x, which is 0 before. Calls f(o, image, row, from, until, T* to) to add the
// contribution of output position o, whose channels start at `row`, to the elements [from, until)
// of its image; `to` is the image's first element. Visits only positions whose `reach(o)` (first
// and last step along the first spatial axis) can include these elements. Deterministic for every
// number of threads: each element gets its summands in order.
template <class T, class Reach, class F>
Tensor gather_positions(const OutFormat& format, const Shape& x, const ImageMap& m, Reach reach,
                        F f) {
  const std::size_t d = m.first();
  const Index slab = m.slab(), image = m.image(), per_step = m.output_positions() / m.result[d];
  return write_elements<T>(
      format, x, std::max<Index>(1, slab * m.slabs_at_once()), [&](Index begin, Index end, T* to) {
        std::fill(to, to + (end - begin), T{0});
        for (Index i = begin / image; i * image < end; ++i) {
          const Index from = std::max(begin, i * image) - i * image;
          const Index until = std::min(end, (i + 1) * image) - i * image;
          for (Index step = 0; step < m.result[d]; ++step) {
            const auto [low, high] = reach(step);
            if (high < from / slab || low >= ceil_div(until, slab)) continue;
            for (Index p = step * per_step; p < (step + 1) * per_step; ++p)
              f(m.place(p), i * image, (i * m.output_positions() + p) * m.channels, from, until,
                to + (i * image - begin));
          }
        }
      });
}

}  // namespace sten
