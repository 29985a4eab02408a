// SPDX-License-Identifier: Apache-2.0
// Pooling: maximum or mean of each window of an image, per channel, and the gradients, which each
// element of the image gathers from its windows.
#pragma once
#include <limits>

#include "kernels/block/row_functions.h"
#include "kernels/block/rows/each_of_rows.h"

namespace sten::kernels {

// The elements of a window along an axis: first, first + step, ...; `counted` includes the padding.
struct PoolRun {
  std::int32_t first, count, step, counted;
};
STEN_DEVICE inline std::int32_t least_not_below(std::int32_t n, std::int32_t step) {
  return n <= 0 ? 0 : step == 1 ? n : (n + step - 1) / step;
}
STEN_DEVICE inline PoolRun run_of(const PoolAxis& a, std::int32_t o) {
  if (a.is_adaptive) {
    const std::int32_t first = o * a.size / a.result;
    const std::int32_t count = ((o + 1) * a.size + a.result - 1) / a.result - first;
    return {first, count, 1, count};
  }
  const std::int32_t start = o * a.stride - a.before;
  const auto below = [&](std::int32_t end) {
    const std::int32_t n = least_not_below(end - start, a.dilation);
    return n < a.kernel ? n : a.kernel;
  };
  const std::int32_t skipped = below(0), count = below(a.size) - skipped;
  return {start + skipped * a.dilation, count < 0 ? 0 : count, a.dilation, below(a.size + a.after)};
}
// First and last window that can have element i; with a dilation, has_element() tells which do.
struct PoolReach {
  std::int32_t first, last;
};
STEN_DEVICE inline PoolReach windows_of(const PoolAxis& a, std::int32_t i) {
  if (a.is_adaptive) return {i * a.result / a.size, ((i + 1) * a.result - 1) / a.size};
  const std::int32_t at = i + a.before, last = at / a.stride;
  return {least_not_below(at - (a.kernel - 1) * a.dilation, a.stride),
          last < a.result ? last : a.result - 1};
}
STEN_DEVICE inline bool has_element(const PoolAxis& a, std::int32_t o, std::int32_t i) {
  return a.is_adaptive || a.dilation == 1 || (i + a.before - o * a.stride) % a.dilation == 0;
}

struct PoolPosition {
  std::int32_t image, at[3];
};
STEN_DEVICE inline PoolPosition place_of(std::int32_t row, std::int32_t n0, std::int32_t n1,
                                         std::int32_t n2) {
  const std::int32_t a = row / n2, b = a / n1, image = b / n0;
  return {image, {b - image * n0, a - b * n1, row - a * n2}};
}
STEN_DEVICE inline std::int32_t pixels_of(const Pools& p) {
  return p.axes[0].size * p.axes[1].size * p.axes[2].size;
}

struct PoolWindow {
  PoolRun runs[3];
  std::int64_t image;  // first pixel of the image

  STEN_DEVICE PoolWindow(const Pools& p, std::int64_t row) {
    const PoolPosition o = place_of(static_cast<std::int32_t>(row), p.axes[0].result,
                                    p.axes[1].result, p.axes[2].result);
    for (int d = 0; d < 3; ++d) runs[d] = run_of(p.axes[d], o.at[d]);
    image = std::int64_t{o.image} * pixels_of(p);
  }
  // Calls f(pixel) for the elements of the window inside of the image.
  template <class F>
  STEN_DEVICE void each(const Pools& p, F&& f) const {
    for (std::int32_t i = 0; i < runs[0].count; ++i)
      for (std::int32_t j = 0; j < runs[1].count; ++j) {
        const std::int32_t line =
            (runs[0].first + i * runs[0].step) * p.axes[1].size + runs[1].first + j * runs[1].step;
        for (std::int32_t k = 0; k < runs[2].count; ++k)
          f(line * p.axes[2].size + runs[2].first + k * runs[2].step);
      }
  }
};
STEN_DEVICE inline std::int32_t counted_of(const Pools& p, const PoolRun& a, const PoolRun& b,
                                           const PoolRun& c) {
  return p.counts_pads ? a.counted * b.counted * c.counted : a.count * b.count * c.count;
}

struct PoolForward {
  Pools p;
  const float* x;
  float* y;
  STEN_DEVICE void operator()(std::int64_t i, std::int64_t row, std::int64_t channel) const {
    const PoolWindow w(p, row);
    const float* image = x + w.image * p.channels + channel;
    if (p.is_max) {
      // NaN wins; the last one of several.
      float best = -std::numeric_limits<float>::infinity();
      w.each(p, [&](std::int32_t pixel) {
        const float v = image[std::int64_t{pixel} * p.channels];
        best = v > best || v != v ? v : best;
      });
      y[i] = best;
      return;
    }
    double sum = 0;
    std::int32_t taps = 0;
    w.each(p, [&](std::int32_t pixel) {
      sum += static_cast<double>(image[std::int64_t{pixel} * p.channels]);
      ++taps;
    });
    const auto by = static_cast<double>(counted_of(p, w.runs[0], w.runs[1], w.runs[2]));
    y[i] = taps == 0 ? 0 : static_cast<float>(sum / by);
  }
};

// The pixel of the maximum of a window, the first of equal elements; -1 for an empty window.
struct PoolLargest {
  Pools p;
  const float* x;
  std::int32_t* at;
  STEN_DEVICE void operator()(std::int64_t i, std::int64_t row, std::int64_t channel) const {
    const PoolWindow w(p, row);
    const float* image = x + w.image * p.channels + channel;
    float best = -std::numeric_limits<float>::infinity();
    std::int32_t found = -1;
    w.each(p, [&](std::int32_t pixel) {
      const float v = image[std::int64_t{pixel} * p.channels];
      const bool wins = v > best || v != v || found < 0;
      best = wins ? v : best;
      found = wins ? pixel : found;
    });
    at[i] = found;
  }
};

// Sums in the order of the windows.
struct PoolBackward {
  Pools p;
  const std::int32_t* largest;  // nullptr: mean pooling
  const float* dy;
  float* dx;
  STEN_DEVICE void operator()(std::int64_t i, std::int64_t row, std::int64_t channel) const {
    const PoolAxis &a = p.axes[0], &b = p.axes[1], &c = p.axes[2];
    const PoolPosition at = place_of(static_cast<std::int32_t>(row), a.size, b.size, c.size);
    const std::int32_t pixel = (at.at[0] * b.size + at.at[1]) * c.size + at.at[2];
    const PoolReach in_a = windows_of(a, at.at[0]), in_b = windows_of(b, at.at[1]),
                    in_c = windows_of(c, at.at[2]);
    float sum = 0;
    for (std::int32_t o = in_a.first; o <= in_a.last; ++o)
      for (std::int32_t q = in_b.first; q <= in_b.last; ++q)
        for (std::int32_t r = in_c.first; r <= in_c.last; ++r) {
          const std::int64_t place =
              ((std::int64_t{at.image} * a.result + o) * b.result + q) * c.result + r;
          const std::int64_t from = place * p.channels + channel;
          if (largest) {
            if (largest[from] == pixel) sum += dy[from];
          } else if (has_element(a, o, at.at[0]) && has_element(b, q, at.at[1]) &&
                     has_element(c, r, at.at[2])) {
            sum += dy[from] /
                   static_cast<float>(counted_of(p, run_of(a, o), run_of(b, q), run_of(c, r)));
          }
        }
    dx[i] = sum;
  }
};

template <class Grid>
struct PoolsOn {
  static std::int64_t output_positions(const Pools& p) {
    return p.batch * std::int64_t{p.axes[0].result} * p.axes[1].result * p.axes[2].result;
  }
  static void pool(const float* x, const Pools& p, float* y, Stream stream) {
    Grid(stream).launch(EachOfRows<PoolForward>{output_positions(p), p.channels, {p, x, y}});
  }
  static void pool_grad(const float* dy, const float* x, const Pools& p, float* dx, Stream stream) {
    Grid grid(stream);
    std::int32_t* largest = nullptr;
    if (p.is_max) {
      largest = grid.template scratch<std::int32_t>(output_positions(p) * p.channels);
      grid.launch(EachOfRows<PoolLargest>{output_positions(p), p.channels, {p, x, largest}});
    }
    const std::int64_t pixels = std::int64_t{p.axes[0].size} * p.axes[1].size * p.axes[2].size;
    grid.launch(EachOfRows<PoolBackward>{p.batch * pixels, p.channels, {p, largest, dy, dx}});
  }
};

}  // namespace sten::kernels
