// SPDX-License-Identifier: Apache-2.0
// WindowFunctions over grids, as on a GPU.
#include "kernels/block/windows/windows.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "tests/support/checked_device.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using kernels::ColumnSegment;
using kernels::Convolution;
using kernels::WindowFunctions;

namespace {

using WindowFloats = std::vector<float>;

// Calls f with the serial table and with a checked one (random order of threads, race detection).
template <class F>
void with_window_tables(F&& f) {
  static const WindowFunctions plain = kernels::window_functions<kernels::SerialGrid>(),
                               careful = kernels::window_functions<CheckedDevice>();
  for (const bool checked : {false, true}) {
    CAPTURE(checked);
    CheckedDevice::reset(5);
    f(checked ? careful : plain);
    CHECK(CheckedDevice::reports() == std::vector<std::string>{});
  }
}

Convolution with_results(Convolution c, Convolution::Axes after) {
  for (std::size_t d = 0; d < 3; ++d)
    c.result[d] =
        (c.size[d] + c.before[d] + after[d] - (c.kernel[d] - 1) * c.dilation[d] - 1) / c.stride[d] +
        1;
  return c;
}

// Convolutions over one or more axes, with groups, strides, dilations and padding; channel
// counts that are multiples of 4 and others.
std::vector<Convolution> convolutions() {
  Convolution plain{.batch = 2, .in = 3, .out = 4, .size = {1, 5, 6}, .kernel = {1, 3, 3}};
  plain.before = {0, 1, 1};
  Convolution strided = plain;
  strided.in = 8, strided.stride = {1, 2, 3}, strided.size = {1, 8, 7};
  Convolution spread{.batch = 3, .in = 6, .out = 4, .groups = 2, .size = {4, 5, 6}};
  spread.kernel = {2, 2, 3}, spread.dilation = {2, 1, 2}, spread.stride = {1, 3, 2};
  spread.before = {1, 0, 3};
  Convolution grouped{.batch = 1, .in = 24, .out = 6, .groups = 3, .size = {1, 1, 9}};
  grouped.kernel = {1, 1, 4}, grouped.dilation = {7, 9, 2}, grouped.stride = {5, 5, 1};
  Convolution alone{.batch = 2, .in = 4, .out = 1, .groups = 4, .size = {1, 3, 3}};
  alone.kernel = {1, 1, 1}, alone.stride = {1, 2, 2};
  return {with_results(plain, {0, 1, 1}), with_results(strided, {0, 1, 0}),
          with_results(spread, {0, 1, 2}), with_results(grouped, {0, 0, 0}),
          with_results(alone, {0, 0, 0})};
}

// Whole images, a range of images, and a range of output positions of one image.
std::vector<ColumnSegment> pieces_of(const Convolution& c, bool by_channel) {
  std::vector<ColumnSegment> all{{0, c.batch, 0, c.output_positions(), by_channel},
                                 {c.batch - 1, 1, 0, c.output_positions(), by_channel},
                                 {0, 0, 0, c.output_positions(), by_channel}};
  if (c.output_positions() > 2)
    all.push_back({c.batch - 1, 1, 2, c.output_positions() - 2, by_channel});
  return all;
}

// Calls f(column, pixel or -1, channel) for all columns of a segment, by definition.
template <class F>
void each_column(const Convolution& c, const ColumnSegment& p, F&& f) {
  const Index in = c.group_in(), taps = c.taps();
  for (Index row = 0; row < p.rows(); ++row) {
    const Index image = p.image + row / p.output_positions,
                place = p.place + row % p.output_positions;
    const Index o[] = {place / (c.result[1] * c.result[2]), place / c.result[2] % c.result[1],
                       place % c.result[2]};
    for (Index channel = 0; channel < c.in; ++channel)
      for (Index tap = 0; tap < taps; ++tap) {
        const Index k[] = {tap / (c.kernel[1] * c.kernel[2]), tap / c.kernel[2] % c.kernel[1],
                           tap % c.kernel[2]};
        Index pixel = image;
        bool is_inside = true;
        for (std::size_t d = 0; d < 3; ++d) {
          const Index i = o[d] * c.stride[d] - c.before[d] + k[d] * c.dilation[d];
          is_inside = is_inside && i >= 0 && i < c.size[d];
          pixel = pixel * c.size[d] + i;
        }
        const Index column =
            p.by_channel ? channel * taps + tap : (channel / in * taps + tap) * in + channel % in;
        f(row * c.in * taps + column, is_inside ? pixel : -1, channel);
      }
  }
}

WindowFloats whole_numbers(Dice& dice, Index n) {
  WindowFloats x(n);
  for (float& v : x) v = static_cast<float>(dice.below(64) - 32);
  return x;
}

}  // namespace

TEST_CASE("block kernels compute im2col and its gradient, col2im") {
  with_window_tables([](const WindowFunctions& f) {
    Dice dice(1);
    for (const Convolution& c : convolutions())
      for (const bool by_channel : {false, true}) {
        if (by_channel && c.groups > 1) continue;
        for (const ColumnSegment& p : pieces_of(c, by_channel)) {
          CAPTURE(c.in);
          CAPTURE(p.image);
          CAPTURE(p.place);
          const Index all = p.rows() * c.in * c.taps(), pixels = c.batch * c.pixels() * c.in;
          // The element after the output does not change.
          alignas(16) static float x_room[4096], columns_room[1 << 16];
          REQUIRE(pixels < 4096);
          REQUIRE(all < (1 << 16));
          const WindowFloats x = whole_numbers(dice, pixels), from = whole_numbers(dice, all);
          std::copy(x.begin(), x.end(), x_room);
          std::fill_n(columns_room, all + 1, 99.0f);
          f.make_columns(c, p, x_room, columns_room, nullptr);
          WindowFloats want(all), sums = x;
          each_column(c, p, [&](Index column, Index pixel, Index channel) {
            if (pixel >= 0) want[column] = x[pixel * c.in + channel];
            if (pixel >= 0) sums[pixel * c.in + channel] += from[column];
          });
          CHECK(WindowFloats(columns_room, columns_room + all) == want);
          CHECK(columns_room[all] == 99);
          // Added to dx, and replacing it; images of other segments do not change.
          std::copy(from.begin(), from.end(), columns_room);
          f.sum_columns(c, p, columns_room, true, x_room, nullptr);
          CHECK(WindowFloats(x_room, x_room + pixels) == sums);
          std::copy(x.begin(), x.end(), x_room);
          f.sum_columns(c, p, columns_room, false, x_room, nullptr);
          const Index image = c.pixels() * c.in;
          for (Index i = 0; i < pixels; ++i)
            if (i / image >= p.image && i / image < p.image + p.images) sums[i] -= x[i];
          CHECK(WindowFloats(x_room, x_room + pixels) == sums);
        }
      }
  });
}

TEST_CASE("block kernels transpose matrices, add a bias and apply ReLU") {
  with_window_tables([](const WindowFunctions& f) {
    Dice dice(2);
    // Narrow matrices, and wide ones of one tile, several tiles, and more.
    for (const auto& [n, a, b] : std::vector<std::array<Index, 3>>{
             {5, 7, 9}, {2, 16, 64}, {3, 20, 130}, {1, 150, 17}, {2, 1, 40}}) {
      const WindowFloats from = whole_numbers(dice, n * a * b), bias = whole_numbers(dice, a);
      WindowFloats to(from.size()), want(from.size());
      for (const bool has_bias : {false, true}) {
        f.transpose(n, a, b, from.data(), has_bias ? bias.data() : nullptr, to.data(), nullptr);
        for (Index k = 0; k < n; ++k)
          for (Index i = 0; i < a; ++i)
            for (Index j = 0; j < b; ++j)
              want[(k * b + j) * a + i] = from[(k * a + i) * b + j] + (has_bias ? bias[i] : 0);
        CHECK(to == want);
      }
    }
    f.transpose(0, 7, 9, nullptr, nullptr, nullptr, nullptr);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    WindowFloats y{1, -2, 3, nan, 5}, more{1, 1, -4, 0, nan};
    f.add_relu(3, more.data(), y.data(), nullptr);
    CHECK(y[0] == 2);
    CHECK(y[1] == 0);
    CHECK(y[2] == 0);
    f.add_relu(5, nullptr, y.data(), nullptr);
    CHECK(std::isnan(y[3]));
    CHECK(y[4] == 5);
    f.add_relu(5, more.data(), y.data(), nullptr);
    CHECK(std::isnan(y[4]));
  });
}
