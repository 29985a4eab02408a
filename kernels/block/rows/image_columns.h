// What makes products of convolutions: the windows of images as rows of a matrix, and back. A warp has a
// window, or a pixel, and its threads neighbouring channels.
#pragma once
#include "kernels/block/row_functions.h"
#include "kernels/block/rows/each_of_rows.h"
#include "kernels/block/rows/pool.h"

namespace sten::kernels {

// Where the channels of a tap are in a row of the columns.
struct ColumnPlaces {
  std::int32_t taps, group;  // channels of a group
  STEN_DEVICE explicit ColumnPlaces(const ImageColumns& c)
      : taps(c.axes[0].kernel * c.axes[1].kernel * c.axes[2].kernel),
        group(static_cast<std::int32_t>(c.in / c.groups)) {}
  STEN_DEVICE std::int64_t at(std::int64_t groups, std::int32_t tap, std::int32_t channel) const {
    if (groups == 1) return std::int64_t{tap} * group + channel;
    const std::int32_t g = channel / group;
    return (std::int64_t{g} * taps + tap) * group + (channel - g * group);
  }
};

struct FillColumns {
  static constexpr int threads = 32;
  const float* x;
  ImageColumns c;
  float* columns;

  std::int64_t blocks() const {
    return c.images * c.axes[0].result * c.axes[1].result * c.axes[2].result;
  }
  std::size_t shared_bytes() const { return 0; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t row) const {
    const PoolAxis &i = c.axes[0], &j = c.axes[1], &k = c.axes[2];
    const PoolPlace o = place_of(static_cast<std::int32_t>(row), i.result, j.result, k.result);
    const ColumnPlaces places(c);
    const auto in = static_cast<std::int32_t>(c.in);
    float* to = columns + row * places.taps * c.in;
    b.for_each_thread([&](int t) {
      std::int32_t tap = 0;
      for (std::int32_t u = 0; u < i.kernel; ++u)
        for (std::int32_t v = 0; v < j.kernel; ++v)
          for (std::int32_t w = 0; w < k.kernel; ++w, ++tap) {
            const std::int32_t p = o.at[0] * i.stride - i.before + u * i.dilation;
            const std::int32_t q = o.at[1] * j.stride - j.before + v * j.dilation;
            const std::int32_t r = o.at[2] * k.stride - k.before + w * k.dilation;
            const bool is_inside =
                p >= 0 && p < i.size && q >= 0 && q < j.size && r >= 0 && r < k.size;
            const std::int64_t pixel =
                ((std::int64_t{o.image} * i.size + p) * j.size + q) * k.size + r;
            for (std::int32_t channel = t; channel < in; channel += threads)
              to[places.at(c.groups, tap, channel)] = is_inside ? x[pixel * c.in + channel] : 0;
          }
    });
  }
};

struct GatherColumns {
  static constexpr int threads = 32;
  const float* columns;
  ImageColumns c;
  float* x;

  std::int64_t blocks() const {
    return c.images * c.axes[0].size * c.axes[1].size * c.axes[2].size;
  }
  std::size_t shared_bytes() const { return 0; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t row) const {
    const PoolAxis &i = c.axes[0], &j = c.axes[1], &k = c.axes[2];
    const PoolPlace at = place_of(static_cast<std::int32_t>(row), i.size, j.size, k.size);
    const PoolReach in_i = windows_of(i, at.at[0]), in_j = windows_of(j, at.at[1]),
                    in_k = windows_of(k, at.at[2]);
    const ColumnPlaces places(c);
    const auto in = static_cast<std::int32_t>(c.in);
    const std::int64_t width = places.taps * c.in;
    // Which tap of window o is element e, whose windows windows_of() gives; -1: none.
    const auto tap_of = [](const PoolAxis& a, std::int32_t o, std::int32_t e) {
      const std::int32_t from = e + a.before - o * a.stride, tap = from / a.dilation;
      return tap * a.dilation == from ? tap : -1;
    };
    b.for_each_thread([&](int t) {
      for (std::int32_t channel = t; channel < in; channel += threads) {
        double sum = 0;
        for (std::int32_t o = in_i.first; o <= in_i.last; ++o) {
          const std::int32_t u = tap_of(i, o, at.at[0]);
          if (u < 0) continue;
          for (std::int32_t q = in_j.first; q <= in_j.last; ++q) {
            const std::int32_t v = tap_of(j, q, at.at[1]);
            if (v < 0) continue;
            for (std::int32_t r = in_k.first; r <= in_k.last; ++r) {
              const std::int32_t w = tap_of(k, r, at.at[2]);
              if (w < 0) continue;
              const std::int64_t place =
                  ((std::int64_t{at.image} * i.result + o) * j.result + q) * k.result + r;
              const std::int32_t tap = (u * j.kernel + v) * k.kernel + w;
              sum +=
                  static_cast<double>(columns[place * width + places.at(c.groups, tap, channel)]);
            }
          }
        }
        x[row * c.in + channel] = static_cast<float>(sum);
      }
    });
  }
};

// Of matrices that are small, such as weights.
struct TurnEach {
  const float* x;
  std::int64_t m, n;
  float* to;
  STEN_DEVICE void operator()(std::int64_t i, std::int64_t row, std::int64_t column) const {
    const auto at = static_cast<std::uint32_t>(column), height = static_cast<std::uint32_t>(m);
    const std::uint32_t k = at / height, j = at - k * height;
    to[i] = x[row * m * n + std::int64_t{j} * n + k];
  }
};

template <class Grid>
struct ImageColumnsOn {
  static void image_columns(const float* x, const ImageColumns& c, float* columns, Stream stream) {
    Grid(stream).launch(FillColumns{x, c, columns});
  }
  static void sum_image_columns(const float* columns, const ImageColumns& c, float* x,
                                Stream stream) {
    Grid(stream).launch(GatherColumns{columns, c, x});
  }
  static void turn(const float* x, std::int64_t batch, std::int64_t m, std::int64_t n, float* to,
                   Stream stream) {
    Grid(stream).launch(EachOfRows<TurnEach>{batch, m * n, {x, m, n, to}});
  }
};

}  // namespace sten::kernels
