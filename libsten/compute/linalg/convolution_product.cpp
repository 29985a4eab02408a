// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/convolution_product.h"

#include <algorithm>
#include <vector>

#include "libsten/compute/linalg/dense_gemm.h"

namespace sten {
namespace {

// Output positions of a tile: its patches stay in the L2 cache and are enough for a fast product.
Index tile_positions(const Convolution& c) {
  constexpr Index elements = Index{1} << 16;
  return std::clamp<Index>(elements / (c.taps() * c.group_in()), 32, 1024);
}

// Reorders w to [out, taps, in / groups], the order of patches.
std::vector<float> by_taps(const Convolution& c, const float* w) {
  const Index in = c.group_in(), taps = c.taps();
  std::vector<float> transposed(c.out * in * taps);
  parallel_for(c.out, 64, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k)
      for (Index t = 0; t < taps; ++t)
        for (Index i = 0; i < in; ++i)
          transposed[(k * taps + t) * in + i] = w[(k * in + i) * taps + t];
  });
  return transposed;
}

// Calls f(pixel, tap) for the taps of an output position; pixel is -1 outside the image.
template <class F>
void each_tap(const Convolution& c, Index place, F f) {
  const Index o2 = place % c.result[2], o1 = place / c.result[2] % c.result[1],
              o0 = place / c.result[2] / c.result[1];
  Index tap = 0;
  for (Index t0 = 0; t0 < c.kernel[0]; ++t0) {
    const Index i0 = o0 * c.stride[0] - c.before[0] + t0 * c.dilation[0];
    for (Index t1 = 0; t1 < c.kernel[1]; ++t1) {
      const Index i1 = o1 * c.stride[1] - c.before[1] + t1 * c.dilation[1];
      for (Index t2 = 0; t2 < c.kernel[2]; ++t2, ++tap) {
        const Index i2 = o2 * c.stride[2] - c.before[2] + t2 * c.dilation[2];
        const bool is_inside =
            i0 >= 0 && i0 < c.size[0] && i1 >= 0 && i1 < c.size[1] && i2 >= 0 && i2 < c.size[2];
        f(is_inside ? (i0 * c.size[1] + i1) * c.size[2] + i2 : -1, tap);
      }
    }
  }
}

void gather_patch(const Convolution& c, const float* image, Index place, Index group,
                  float* patch) {
  const Index in = c.group_in();
  each_tap(c, place, [&](Index pixel, Index tap) {
    if (pixel < 0)
      std::fill_n(patch + tap * in, in, 0.0f);
    else
      std::copy_n(image + pixel * c.in + group * in, in, patch + tap * in);
  });
}

void scatter_patch(const Convolution& c, const float* patch, Index place, Index group,
                   float* image) {
  const Index in = c.group_in();
  each_tap(c, place, [&](Index pixel, Index tap) {
    if (pixel < 0) return;
    float* to = image + pixel * c.in + group * in;
    for (Index i = 0; i < in; ++i) to[i] += patch[tap * in + i];
  });
}

// Copies rows [rows, width] with a stride to contiguous memory.
void copy_rows(const float* from, Index stride, Index rows, Index width, float* to) {
  for (Index r = 0; r < rows; ++r) std::copy_n(from + r * stride, width, to + r * width);
}

}  // namespace

bool is_pointwise(const Convolution& c) {
  const Convolution::Axes ones{1, 1, 1}, zeros{};
  return c.kernel == ones && c.stride == ones && c.before == zeros && c.result == c.size &&
         c.groups == 1;
}

void gather_patch_by_channel(const Convolution& c, const float* image, Index place, float* patch) {
  const Index taps = c.taps();
  each_tap(c, place, [&](Index pixel, Index tap) {
    for (Index i = 0; i < c.in; ++i)
      patch[i * taps + tap] = pixel < 0 ? 0 : image[pixel * c.in + i];
  });
}

void add_patch_by_channel(const Convolution& c, const float* patch, Index place, float* image) {
  const Index taps = c.taps();
  each_tap(c, place, [&](Index pixel, Index tap) {
    if (pixel < 0) return;
    for (Index i = 0; i < c.in; ++i) image[pixel * c.in + i] += patch[i * taps + tap];
  });
}

Index weight_segments(const Convolution& c) {
  constexpr Index worth = 128, most = 16;   // output positions of a segment
  constexpr Index floats = Index{1} << 23;  // of all sums, but always two
  const Index size = std::max<Index>(1, c.out * c.group_in() * c.taps());
  const Index fit = std::clamp<Index>(floats / size, 2, most);
  return std::clamp<Index>(c.batch * c.output_positions() / worth, 1, std::min(fit, c.batch));
}

void convolve_by_product(const Convolution& c, const float* x, const float* w, const float* b,
                         float* y, const ConvolutionEnd& end) {
  const Index all = c.batch * c.output_positions(), in = c.group_in(), out = c.group_out();
  const Index length = c.taps() * in;
  const auto finish = [&](Index first, Index last) {
    for (Index p = first; p < last && b; ++p)
      for (Index k = 0; k < c.out; ++k) y[p * c.out + k] += b[k];
    end.apply(first, last - first, c.out, y);
  };
  if (is_pointwise(c)) {
    dense_linear(all, c.out, c.in, x, w, y);
    if (b || end.relu || end.residual) parallel_for(all, 256, finish);
    return;
  }
  const std::vector<float> weights = by_taps(c, w);
  const Index at_once = tile_positions(c);
  parallel_for(ceil_div(all, at_once), 1, [&](Index first, Index last) {
    std::vector<float> patches(at_once * length), made(at_once * out);
    for (Index tile = first; tile < last; ++tile) {
      const Index begin = tile * at_once, count = std::min(at_once, all - begin);
      for (Index g = 0; g < c.groups; ++g) {
        for (Index p = 0; p < count; ++p)
          gather_patch(c, x + (begin + p) / c.output_positions() * c.pixels() * c.in,
                       (begin + p) % c.output_positions(), g, patches.data() + p * length);
        const float* of_group = weights.data() + g * out * length;
        if (c.groups == 1) {
          dense_linear(count, out, length, patches.data(), of_group, y + begin * c.out, 1);
          continue;
        }
        dense_linear(count, out, length, patches.data(), of_group, made.data(), 1);
        for (Index p = 0; p < count; ++p)
          std::copy_n(made.data() + p * out, out, y + (begin + p) * c.out + g * out);
      }
      finish(begin, begin + count);
    }
  });
}

void convolve_data_by_product(const Convolution& c, const float* dy, const float* w, float* dx) {
  const Index in = c.group_in(), out = c.group_out(), length = c.taps() * in;
  if (is_pointwise(c)) return dense_gemm(c.batch * c.output_positions(), c.in, c.out, dy, w, dx);
  const std::vector<float> weights = by_taps(c, w);
  const Index at_once = tile_positions(c);
  // One thread per image, since patches overlap.
  parallel_for(c.batch, 1, [&](Index first, Index last) {
    std::vector<float> patches(at_once * length), from(at_once * out);
    for (Index n = first; n < last; ++n) {
      float* image = dx + n * c.pixels() * c.in;
      std::fill_n(image, c.pixels() * c.in, 0.0f);
      for (Index begin = 0; begin < c.output_positions(); begin += at_once) {
        const Index count = std::min(at_once, c.output_positions() - begin);
        for (Index g = 0; g < c.groups; ++g) {
          copy_rows(dy + (n * c.output_positions() + begin) * c.out + g * out, c.out, count, out,
                    from.data());
          dense_gemm(count, length, out, from.data(), weights.data() + g * out * length,
                     patches.data(), 1);
          for (Index p = 0; p < count; ++p)
            scatter_patch(c, patches.data() + p * length, begin + p, g, image);
        }
      }
    }
  });
}

void convolve_weights_by_product(const Convolution& c, const float* x, const float* dy, float* dw) {
  const Index in = c.group_in(), out = c.group_out(), taps = c.taps(), length = taps * in;
  const Index all = c.batch * c.output_positions(), size = c.out * length;
  if (all == 0) return std::fill_n(dw, size, 0.0f), void();
  const Index pieces = weight_segments(c), at_once = tile_positions(c);
  const Index images = ceil_div(c.batch, pieces);
  std::vector<float> sums(pieces * size);
  parallel_for(pieces, 1, [&](Index first, Index last) {
    std::vector<float> patches(at_once * length), from(at_once * out), made(out * length);
    for (Index piece = first; piece < last; ++piece) {
      const Index stop = std::min(c.batch, (piece + 1) * images) * c.output_positions();
      for (Index begin = piece * images * c.output_positions(); begin < stop; begin += at_once) {
        const Index count = std::min(at_once, stop - begin);
        for (Index g = 0; g < c.groups; ++g) {
          for (Index p = 0; p < count; ++p)
            gather_patch(c, x + (begin + p) / c.output_positions() * c.pixels() * c.in,
                         (begin + p) % c.output_positions(), g, patches.data() + p * length);
          copy_rows(dy + begin * c.out + g * out, c.out, count, out, from.data());
          dense_transposed_gemm(out, length, count, from.data(), patches.data(), made.data(), 1);
          float* sum = sums.data() + piece * size + g * out * length;
          for (Index i = 0; i < out * length; ++i) sum[i] += made[i];
        }
      }
    }
  });
  parallel_for(c.out, 64, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k)
      for (Index t = 0; t < taps; ++t)
        for (Index i = 0; i < in; ++i) {
          float sum = 0;
          for (Index p = 0; p < pieces; ++p) sum += sums[p * size + k * length + t * in + i];
          dw[(k * in + i) * taps + t] = sum;
        }
  });
}

}  // namespace sten
