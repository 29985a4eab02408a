// SPDX-License-Identifier: Apache-2.0
// im2col, and the gradient of the images from the columns (Chellapilla et al. 2006).
#pragma once
#include "kernels/block/maps/walk.h"
#include "kernels/block/window_functions.h"
#include "kernels/block/windows/transpose.h"

namespace sten::kernels {

// Four neighbouring channels, which a thread handles at once.
struct alignas(16) FourChannels {
  float of[4];
};
// Sums of one or four channels in double.
struct ChannelSum {
  double all = 0;
  STEN_DEVICE void add(float v) { all += static_cast<double>(v); }
  STEN_DEVICE float sum() const { return static_cast<float>(all); }
};
struct FourChannelSums {
  double all[4] = {};
  STEN_DEVICE void add(const FourChannels& v) {
    STEN_UNROLL(4)
    for (int i = 0; i < 4; ++i) all[i] += static_cast<double>(v.of[i]);
  }
  STEN_DEVICE FourChannels sum() const {
    FourChannels v;
    STEN_UNROLL(4)
    for (int i = 0; i < 4; ++i) v.of[i] = static_cast<float>(all[i]);
    return v;
  }
};
STEN_HOST_DEVICE inline ChannelSum sum_of(float) { return {}; }
STEN_HOST_DEVICE inline FourChannelSums sum_of(const FourChannels&) { return {}; }

// The three digits of an index in mixed radix, the last digit being the fastest.
struct ThreeDigits {
  Divisor middle, last;

  ThreeDigits() = default;
  explicit ThreeDigits(const Convolution::Axes& bases) : middle(bases[1]), last(bases[2]) {}
  STEN_DEVICE void find(std::uint32_t i, std::int32_t (&digits)[3]) const {
    const std::uint32_t rest = last.quotient(i), first = middle.quotient(rest);
    digits[0] = static_cast<std::int32_t>(first);
    digits[1] = static_cast<std::int32_t>(rest - first * middle.by);
    digits[2] = static_cast<std::int32_t>(i - rest * last.by);
  }
};

// A Convolution and a segment, in elements of T.
struct WindowPlan {
  struct Axis {
    std::int32_t size, result, stride, dilation, before,
        reach;  // reach: from the first to the last element of a window
    Divisor strides, dilations;
  };
  Axis axes[3];
  Divisor row, minor, taps;  // row: columns per row; minor: its fastest extent; taps: of all axes
  Divisor output_positions, channels, group_in, pixels;
  ThreeDigits place_of, tap_of, pixel_of;
  std::int32_t tap_steps[2];  // distance of taps along the first two axes
  std::uint32_t first_position;
  bool by_channel;

  // width: floats per element.
  WindowPlan(const Convolution& c, const ColumnSegment& p, std::int64_t width)
      : row(c.in / width * c.taps()),
        minor(p.by_channel ? c.taps() : c.group_in() / width),
        taps(c.taps()),
        output_positions(p.output_positions),
        channels(c.in / width),
        group_in(c.group_in() / width),
        pixels(c.pixels()),
        place_of(c.result),
        tap_of(c.kernel),
        pixel_of(c.size),
        tap_steps{static_cast<std::int32_t>(c.kernel[1] * c.kernel[2]),
                  static_cast<std::int32_t>(c.kernel[2])},
        first_position(static_cast<std::uint32_t>(p.place)),
        by_channel(p.by_channel) {
    for (std::size_t d = 0; d < 3; ++d) {
      const auto number = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
      axes[d] = {number(c.size[d]),
                 number(c.result[d]),
                 number(c.result[d] == 1 ? 1 : c.stride[d]),
                 number(c.kernel[d] == 1 ? 1 : c.dilation[d]),
                 number(c.before[d]),
                 number((c.kernel[d] - 1) * c.dilation[d]),
                 {},
                 {}};
      axes[d].strides = Divisor(axes[d].stride);
      axes[d].dilations = Divisor(axes[d].dilation);
    }
  }
};

// Computes element e of the columns.
template <class T>
struct MakeColumns {
  WindowPlan w;
  const T* x;  // the first image
  T* columns;

  STEN_DEVICE void operator()(std::uint32_t e) const {
    const std::uint32_t line = w.row.quotient(e), j = e - line * w.row.by;
    const std::uint32_t major = w.minor.quotient(j), minor = j - major * w.minor.by;
    std::uint32_t channel = major, tap = minor;
    if (!w.by_channel) {
      const std::uint32_t group = w.taps.quotient(major);
      channel = group * w.group_in.by + minor;
      tap = major - group * w.taps.by;
    }
    const std::uint32_t image = w.output_positions.quotient(line);
    std::int32_t o[3], k[3];
    w.place_of.find(w.first_position + line - image * w.output_positions.by, o);
    w.tap_of.find(tap, k);
    std::int64_t pixel = image;
    bool is_inside = true;
    STEN_UNROLL(3)
    for (int d = 0; d < 3; ++d) {
      const WindowPlan::Axis& a = w.axes[d];
      const std::int32_t i = o[d] * a.stride - a.before + k[d] * a.dilation;
      is_inside = is_inside && i >= 0 && i < a.size;
      pixel = pixel * a.size + i;
    }
    columns[e] = is_inside ? x[pixel * w.channels.by + channel] : T{};
  }
};

// Computes element e of dx. Its windows along an axis are those from `first` to `last` for which
// the dilation divides the distance.
template <class T>
struct SumWindows {
  WindowPlan w;
  const T* columns;
  bool adds;
  T* dx;

  STEN_DEVICE void operator()(std::uint32_t e) const {
    const std::uint32_t at = w.channels.quotient(e), channel = e - at * w.channels.by;
    const std::uint32_t image = w.pixels.quotient(at);
    const std::uint32_t group = w.group_in.quotient(channel);
    std::int32_t pixel[3], first[3], last[3];
    w.pixel_of.find(at - image * w.pixels.by, pixel);
    STEN_UNROLL(3)
    for (int d = 0; d < 3; ++d) {
      const WindowPlan::Axis& a = w.axes[d];
      pixel[d] += a.before;
      const std::int32_t least = pixel[d] - a.reach, most = quotient(a.strides, pixel[d]);
      first[d] = least <= 0 ? 0 : quotient(a.strides, least + a.stride - 1);
      last[d] = most < a.result ? most : a.result - 1;
    }
    // Position of a tap in a row: with by_channel, the taps of a channel are neighbours; otherwise,
    // the channels of a tap are.
    const std::int64_t tap_step = w.by_channel ? 1 : w.group_in.by;
    const std::int64_t in_row = w.by_channel ? std::int64_t{channel} * w.taps.by
                                             : std::int64_t{group} * w.taps.by * w.group_in.by +
                                                   channel - std::int64_t{group} * w.group_in.by;
    auto sum = sum_of(T{});
    if (adds) sum.add(dx[e]);
    for (std::int32_t o0 = first[0]; o0 <= last[0]; ++o0) {
      const std::int32_t k0 = tap_of(w.axes[0], pixel[0], o0);
      if (k0 < 0) continue;
      for (std::int32_t o1 = first[1]; o1 <= last[1]; ++o1) {
        const std::int32_t k1 = tap_of(w.axes[1], pixel[1], o1);
        if (k1 < 0) continue;
        for (std::int32_t o2 = first[2]; o2 <= last[2]; ++o2) {
          const std::int32_t k2 = tap_of(w.axes[2], pixel[2], o2);
          if (k2 < 0) continue;
          const std::int32_t place = (o0 * w.axes[1].result + o1) * w.axes[2].result + o2;
          const std::uint32_t here = static_cast<std::uint32_t>(place) - w.first_position;
          if (here >= w.output_positions.by) continue;  // belongs to another segment
          const std::int64_t line = std::int64_t{image} * w.output_positions.by + here;
          const std::int32_t tap = k0 * w.tap_steps[0] + k1 * w.tap_steps[1] + k2;
          sum.add(columns[line * w.row.by + in_row + tap * tap_step]);
        }
      }
    }
    dx[e] = sum.sum();
  }
  STEN_DEVICE static std::int32_t quotient(const Divisor& by, std::int32_t n) {
    return static_cast<std::int32_t>(by.quotient(static_cast<std::uint32_t>(n)));
  }
  // The tap of the window at o that reads the element; -1 if none does.
  STEN_DEVICE static std::int32_t tap_of(const WindowPlan::Axis& a, std::int32_t at,
                                         std::int32_t o) {
    const std::int32_t apart = at - o * a.stride, k = quotient(a.dilations, apart);
    return k * a.dilation == apart ? k : -1;
  }
};

struct AddRelu {
  const float* more;
  float* y;
  STEN_DEVICE void operator()(std::int64_t i) const {
    const float v = more ? y[i] + more[i] : y[i];
    y[i] = v < 0 ? 0 : v;
  }
};

// Whether the channel counts are multiples of four and the pointers are aligned for vectors.
inline bool has_four_channels(const Convolution& c, const ColumnSegment& p, const float* x,
                              const float* columns) {
  const auto is_aligned = [](const float* at) {
    return reinterpret_cast<std::uintptr_t>(at) % sizeof(FourChannels) == 0;
  };
  return !p.by_channel && c.group_in() % 4 == 0 && is_aligned(x) && is_aligned(columns);
}

template <class Grid>
struct WindowsOn {
  template <class T>
  static void make(Grid& grid, const Convolution& c, const ColumnSegment& p, const float* x,
                   float* columns) {
    constexpr std::int64_t width = sizeof(T) / sizeof(float);
    grid.launch(EachElement<MakeColumns<T>>{
        {WindowPlan(c, p, width), reinterpret_cast<const T*>(x), reinterpret_cast<T*>(columns)},
        p.rows() * (c.in / width) * c.taps()});
  }
  static void make_columns(const Convolution& c, const ColumnSegment& p, const float* x,
                           float* columns, Stream stream) {
    if (p.rows() == 0) return;
    Grid grid(stream);
    const float* from = x + p.image * c.pixels() * c.in;
    if (has_four_channels(c, p, from, columns))
      make<FourChannels>(grid, c, p, from, columns);
    else
      make<float>(grid, c, p, from, columns);
  }

  template <class T>
  static void sum(Grid& grid, const Convolution& c, const ColumnSegment& p, const float* columns,
                  bool adds, float* dx) {
    constexpr std::int64_t width = sizeof(T) / sizeof(float);
    grid.launch(
        EachElement<SumWindows<T>>{{WindowPlan(c, p, width), reinterpret_cast<const T*>(columns),
                                    adds, reinterpret_cast<T*>(dx)},
                                   p.images * c.pixels() * (c.in / width)});
  }
  static void sum_columns(const Convolution& c, const ColumnSegment& p, const float* columns,
                          bool adds, float* dx, Stream stream) {
    if (p.rows() == 0) return;
    Grid grid(stream);
    float* to = dx + p.image * c.pixels() * c.in;
    if (has_four_channels(c, p, to, columns))
      sum<FourChannels>(grid, c, p, columns, adds, to);
    else
      sum<float>(grid, c, p, columns, adds, to);
  }

  static void transpose(std::int64_t n, std::int64_t a, std::int64_t b, const float* from,
                        const float* bias, float* to, Stream stream) {
    Grid grid(stream);
    transpose_matrices(grid, {n, a, b, from, bias, to});
  }
  static void add_relu(std::int64_t n, const float* more, float* y, Stream stream) {
    Grid(stream).launch(EachElement<AddRelu>{{more, y}, n});
  }
};

}  // namespace sten::kernels
