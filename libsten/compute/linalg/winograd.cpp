// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/winograd.h"

#include <algorithm>

#include "kernels/winograd.h"
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

using kernels::TilePart;

constexpr Index tile = kernels::winograd_tile, window = kernels::winograd_window,
                planes = kernels::winograd_planes;

// Tiles per step: their data stay in cache, and products are large enough. Gradients of weights are
// summed over steps, so their steps are larger.
constexpr Index tiles_at_once = 128, tiles_of_sum = 512;

// Positions of the tiles of a convolution.
struct Tiles {
  const Convolution& c;
  Index rows, cols, all;

  explicit Tiles(const Convolution& of)
      : c(of),
        rows(ceil_div(c.result[1], tile)),
        cols(ceil_div(c.result[2], tile)),
        all(c.batch * rows * cols) {}

  struct TilePosition {
    Index image, row, col;  // of the first output position
  };
  TilePosition at(Index t) const {
    return {t / (rows * cols), t / cols % rows * tile, t % cols * tile};
  }
  // The part of a tile's window inside x, and the part of the tile inside y.
  TilePart in_x(const TilePosition& p) const {
    const Index row = p.row - c.before[1], col = p.col - c.before[2];
    return {std::clamp<Index>(-row, 0, window), std::clamp<Index>(c.size[1] - row, 0, window),
            std::clamp<Index>(-col, 0, window), std::clamp<Index>(c.size[2] - col, 0, window)};
  }
  TilePart in_y(const TilePosition& p) const {
    return {0, std::min(tile, c.result[1] - p.row), 0, std::min(tile, c.result[2] - p.col)};
  }
  const float* x_at(const float* x, const TilePosition& p) const {
    return x +
           ((p.image * c.size[1] + p.row - c.before[1]) * c.size[2] + p.col - c.before[2]) * c.in;
  }
  template <class T>
  T* y_at(T* y, const TilePosition& p) const {
    return y + ((p.image * c.result[1] + p.row) * c.result[2] + p.col) * c.out;
  }
};

// A buffer per thread and use.
enum class Use { filter, in, out, sums };
float* scratch(Use use, Index size) {
  thread_local Scratch all[4];
  return all[static_cast<std::size_t>(use)].of(size);
}

// Transforms w [out, in, 3, 3] to u [planes, in, out]; transposed: to [planes, out, in] with taps
// in reverse order, for the gradient of x.
void transform_filter(const Convolution& c, const float* w, bool transposed, float* u) {
  const Index rows = transposed ? c.out : c.in, cols = transposed ? c.in : c.out, taps = 9;
  parallel_for(rows, 8, [&](Index begin, Index end) {
    float* taps_of = scratch(Use::in, taps * cols);
    for (Index r = begin; r < end; ++r) {
      for (Index col = 0; col < cols; ++col) {
        const float* from = w + (transposed ? r * c.in + col : col * c.in + r) * taps;
        for (Index t = 0; t < taps; ++t) taps_of[t * cols + col] = from[transposed ? 8 - t : t];
      }
      kernels::winograd().filter(taps_of, cols, cols, u + r * cols, rows * cols);
    }
  });
}

// Transforms a tile's window of x to v [planes, count, in], and its results in m [planes, count,
// out] to y.
void window_of(const Tiles& tiles, const float* x, Index t, float* v, Index count) {
  const Convolution& c = tiles.c;
  const Tiles::TilePosition p = tiles.at(t);
  kernels::winograd().input(tiles.x_at(x, p), c.size[2] * c.in, c.in, tiles.in_x(p), v,
                            count * c.in);
}
void results_of(const Tiles& tiles, const float* m, Index count, const float* b, Index t, float* y,
                const ConvolutionEnd& end) {
  const Convolution& c = tiles.c;
  const Tiles::TilePosition p = tiles.at(t);
  const TilePart part = tiles.in_y(p);
  kernels::winograd().output(m, count * c.out, c.out, b, part, tiles.y_at(y, p),
                             c.result[2] * c.out);
  for (Index row = part.row0; row < part.row1; ++row)
    end.apply((p.image * c.result[1] + p.row + row) * c.result[2] + p.col + part.col0,
              part.col1 - part.col0, c.out, y);
}

// Computes y from x and u [planes, in, out], in steps of tiles_at_once tiles.
void filter_tiles(const Convolution& c, const float* x, const float* u, const float* b, float* y,
                  const ConvolutionEnd& end) {
  const Tiles tiles(c);
  const Index groups = ceil_div(tiles.all, tiles_at_once);
  const auto count_of = [&](Index group) {
    return std::min(tiles_at_once, tiles.all - group * tiles_at_once);
  };
  const auto multiply = [&](Index count, Index plane, const float* v, float* m) {
    dense_gemm(count, c.out, c.in, v + plane * count * c.in, u + plane * c.in * c.out,
               m + plane * count * c.out, 1);
  };
  const Index team = threads();
  if (team == 1 || groups >= 2 * team) {
    parallel_for(groups, 1, [&](Index first, Index last) {
      float* v = scratch(Use::in, planes * tiles_at_once * c.in);
      float* m = scratch(Use::out, planes * tiles_at_once * c.out);
      for (Index g = first; g < last; ++g) {
        const Index begin = g * tiles_at_once, count = count_of(g);
        for (Index t = 0; t < count; ++t) window_of(tiles, x, begin + t, v + t * c.in, count);
        for (Index e = 0; e < planes; ++e) multiply(count, e, v, m);
        for (Index t = 0; t < count; ++t)
          results_of(tiles, m + t * c.out, count, b, begin + t, y, end);
      }
    });
    return;
  }
  // If there are too few steps for the threads, runs all at once, with the same products divided by
  // planes.
  float* v = scratch(Use::in, planes * tiles.all * c.in);
  float* m = scratch(Use::out, planes * tiles.all * c.out);
  const auto begin_of = [](Index group) { return planes * group * tiles_at_once; };
  parallel_for(tiles.all, 8, [&](Index first, Index last) {
    for (Index t = first; t < last; ++t) {
      const Index g = t / tiles_at_once, in_group = t % tiles_at_once;
      window_of(tiles, x, t, v + (begin_of(g) + in_group) * c.in, count_of(g));
    }
  });
  parallel_for(groups * planes, 1, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      const Index g = i / planes;
      multiply(count_of(g), i % planes, v + begin_of(g) * c.in, m + begin_of(g) * c.out);
    }
  });
  parallel_for(tiles.all, 8, [&](Index first, Index last) {
    for (Index t = first; t < last; ++t) {
      const Index g = t / tiles_at_once, in_group = t % tiles_at_once;
      results_of(tiles, m + (begin_of(g) + in_group) * c.out, count_of(g), b, t, y, end);
    }
  });
}

}  // namespace

bool has_winograd(const Convolution& c) {
  const Convolution::Axes ones{1, 1, 1};
  return c.kernel == Convolution::Axes{1, 3, 3} && c.stride == ones && c.dilation == ones &&
         c.groups == 1 && c.size[0] == 1 && c.result[0] == 1;
}

Index winograd_tiles(const Convolution& c) { return Tiles(c).all; }

Index winograd_filter_size(const Convolution& c) { return planes * c.in * c.out; }

void winograd_filter(const Convolution& c, const float* w, float* filter) {
  transform_filter(c, w, false, filter);
}

void convolve_by_winograd_filter(const Convolution& c, const float* x, const float* filter,
                                 const float* b, float* y, const ConvolutionEnd& end) {
  filter_tiles(c, x, filter, b, y, end);
}

void convolve_by_winograd(const Convolution& c, const float* x, const float* w, const float* b,
                          float* y, const ConvolutionEnd& end) {
  float* u = scratch(Use::filter, winograd_filter_size(c));
  transform_filter(c, w, false, u);
  filter_tiles(c, x, u, b, y, end);
}

// The convolution of dy with rotated weights.
void convolve_data_by_winograd(const Convolution& c, const float* dy, const float* w, float* dx) {
  float* u = scratch(Use::filter, winograd_filter_size(c));
  transform_filter(c, w, true, u);
  Convolution back = c;
  std::swap(back.in, back.out);
  std::swap(back.size, back.result);
  for (const std::size_t axis : {1, 2}) back.before[axis] = 2 - c.before[axis];
  filter_tiles(back, dy, u, nullptr, dx, {});
}

void convolve_weights_by_winograd(const Convolution& c, const float* x, const float* dy,
                                  float* dw) {
  const Tiles tiles(c);
  const Index size = c.in * c.out, at_once = std::clamp<Index>(tiles.all, 1, tiles_of_sum);
  float* sums = scratch(Use::sums, planes * size);
  float* v = scratch(Use::in, planes * at_once * c.in);
  float* z = scratch(Use::out, planes * at_once * c.out);
  std::fill_n(sums, tiles.all == 0 ? planes * size : 0, 0.0f);
  for (Index begin = 0; begin < tiles.all; begin += at_once) {
    const Index count = std::min(at_once, tiles.all - begin);
    parallel_for(count, 8, [&](Index first, Index last) {
      for (Index t = first; t < last; ++t) {
        const Tiles::TilePosition p = tiles.at(begin + t);
        kernels::winograd().input(tiles.x_at(x, p), c.size[2] * c.in, c.in, tiles.in_x(p),
                                  v + t * c.in, count * c.in);
        kernels::winograd().output_gradient(tiles.y_at(dy, p), c.result[2] * c.out, c.out,
                                            tiles.in_y(p), z + t * c.out, count * c.out);
      }
    });
    parallel_for(planes, 1, [&](Index first, Index last) {
      float* more = begin == 0 ? nullptr : scratch(Use::filter, size);
      for (Index e = first; e < last; ++e) {
        float* sum = sums + e * size;
        dense_transposed_gemm(c.in, c.out, count, v + e * count * c.in, z + e * count * c.out,
                              more ? more : sum, 1);
        for (Index i = 0; more && i < size; ++i) sum[i] += more[i];
      }
    });
  }
  parallel_for(c.in, 8, [&](Index first, Index last) {
    constexpr Index taps = 9;
    float* taps_of = scratch(Use::filter, taps * c.out);
    for (Index i = first; i < last; ++i) {
      kernels::winograd().filter_gradient(sums + i * c.out, size, c.out, taps_of, c.out);
      for (Index k = 0; k < c.out; ++k)
        for (Index t = 0; t < taps; ++t) dw[(k * c.in + i) * taps + t] = taps_of[t * c.out + k];
    }
  });
}

}  // namespace sten
