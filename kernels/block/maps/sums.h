// SPDX-License-Identifier: Apache-2.0
// Sums over axes, in double, in an order that depends only on shapes.
#pragma once
#include "kernels/block/maps/walk.h"

namespace sten::kernels {

// Destination of sums: doubles, or floats divided by count.
struct SumTo {
  double* sums = nullptr;
  float* floats = nullptr;
  double count = 1;

  STEN_DEVICE void store(std::int64_t i, double sum) const {
    if (floats)
      floats[i] = static_cast<float>(sum / count);
    else
      sums[i] = sum;
  }
};

// Sums x[outer, n, inner] over n in segments: to[outer, segments, inner].
template <class T>
struct SumShape {
  std::int64_t outer, n, inner, piece, pieces;
  const T* x;
  SumTo to;
};

// For large `inner`: a block sums a segment of 32 columns; each of 8 threads per column takes every
// 8th row.
template <class T>
struct SumColumns {
  static constexpr int width = 32, height = 8, threads = width * height;
  SumShape<T> s;

  STEN_HOST_DEVICE std::int64_t tiles() const { return (s.inner + width - 1) / width; }
  std::int64_t blocks() const { return s.outer * s.pieces * tiles(); }
  std::size_t shared_bytes() const { return threads * sizeof(double); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    auto part = b.template shared<double>(threads);
    const std::int64_t at = block / tiles(), column0 = block % tiles() * width;
    const std::int64_t begin = at % s.pieces * s.piece;
    const std::int64_t end = begin + s.piece < s.n ? begin + s.piece : s.n;
    const T* from = s.x + at / s.pieces * s.n * s.inner;
    b.for_each_thread([&](int t) {
      const std::int64_t column = column0 + t % width;
      double sum = 0;
      if (column < s.inner)
        for (std::int64_t r = begin + t / width; r < end; r += height)
          sum += from[r * s.inner + column];
      part[t] = sum;
    });
    for (int half = height / 2; half > 0; half /= 2)
      b.for_each_thread([&](int t) {
        if (t < half * width) part[t] = part[t] + part[t + half * width];
      });
    b.for_each_thread([&](int t) {
      if (t < width && column0 + t < s.inner) s.to.store(at * s.inner + column0 + t, part[t]);
    });
  }
};

// For inner = 1: a block sums a segment of a row.
template <class T, int size>
struct SumRow {
  static constexpr int threads = size;
  SumShape<T> s;

  std::int64_t blocks() const { return s.outer * s.pieces; }
  std::size_t shared_bytes() const { return threads * sizeof(double); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    const std::int64_t begin = block % s.pieces * s.piece;
    const std::int64_t end = begin + s.piece < s.n ? begin + s.piece : s.n;
    const T* from = s.x + block / s.pieces * s.n;
    const double all = reduce<double>(
        b, b.template shared<double>(threads),
        [&](int t) {
          double sum = 0;
          for (std::int64_t i = begin + t; i < end; i += threads) sum += from[i];
          return sum;
        },
        [](double x, double y) { return x + y; });
    b.for_each_thread([&](int t) {
      if (t == 0) s.to.store(block, all);
    });
  }
};

// Up to this many rows are summed by one kernel.
inline constexpr std::int64_t max_single_pass_rows = 256;

// Sums of x[outer, n, inner] over n.
template <class Grid, class T>
void sum_middle(Grid& grid, std::int64_t outer, std::int64_t n, std::int64_t inner, const T* x,
                const SumTo& to) {
  // Rows are cut into segments if there are too few sums to fill a device, but not into segments so
  // short that a second kernel costs more than it gains.
  constexpr std::int64_t enough = 512, least_rows = 64, least_elements = 4096, short_line = 1024;
  const std::int64_t least = inner == 1 ? least_elements : least_rows;
  const std::int64_t units = outer * ((inner + 31) / 32);
  std::int64_t pieces = 1;
  if (units > 0 && units < enough && n > (inner == 1 ? least : max_single_pass_rows)) {
    const std::int64_t most = (n + least - 1) / least, wanted = (enough + units - 1) / units;
    pieces = most < wanted ? most : wanted;
  }
  const std::int64_t piece = (n + pieces - 1) / pieces;
  SumTo here = to;
  if (pieces > 1) here = {grid.template scratch<double>(outer * pieces * inner), nullptr, 1};
  const SumShape<T> shape{outer, n, inner, piece, pieces, x, here};
  if (inner != 1)
    grid.launch(SumColumns<T>{shape});
  else if (piece <= short_line)
    grid.launch(SumRow<T, 32>{shape});
  else
    grid.launch(SumRow<T, 256>{shape});
  if (pieces == 1) return;
  const SumShape<double> rest{outer, pieces, inner, pieces, 1, here.sums, to};
  if (inner != 1)
    grid.launch(SumColumns<double>{rest});
  else
    grid.launch(SumRow<double, 32>{rest});
}

// Merges neighbouring axes that are both summed or both not summed; drops axes of extent 1.
inline SumAxes merged(const SumAxes& axes) {
  SumAxes all;
  for (int d = 0; d < axes.count; ++d) {
    if (axes.extents[d] == 1) continue;
    if (all.count > 0 && all.is_summed[all.count - 1] == axes.is_summed[d]) {
      all.extents[all.count - 1] *= axes.extents[d];
    } else {
      all.extents[all.count] = axes.extents[d];
      all.is_summed[all.count++] = axes.is_summed[d];
    }
  }
  return all;
}

// Sums over one axis after the other, the longest first.
template <class Grid, class T>
void sum_axes(Grid& grid, const SumAxes& given, const T* x, const SumTo& to) {
  SumAxes axes = merged(given);
  int longest = -1, summed = 0;
  for (int d = 0; d < axes.count; ++d)
    if (axes.is_summed[d]) {
      ++summed;
      if (longest < 0 || axes.extents[d] > axes.extents[longest]) longest = d;
    }
  std::int64_t outer = 1, inner = 1;
  for (int d = 0; d < axes.count; ++d) {
    if (d < longest) outer *= axes.extents[d];
    if (d > longest) inner *= axes.extents[d];
  }
  if (longest < 0) return sum_middle(grid, 1, 1, inner, x, to);  // no axis is summed
  const std::int64_t n = axes.extents[longest];
  if (summed == 1) return sum_middle(grid, outer, n, inner, x, to);
  double* sums = grid.template scratch<double>(outer * inner);
  sum_middle(grid, outer, n, inner, x, {sums, nullptr, 1});
  axes.extents[longest] = 1;
  sum_axes<Grid, double>(grid, axes, sums, to);
}

// y[rows, n] += b[n], fewer than 2^31 elements.
struct AddBias {
  Divisor n;
  const float* b;
  float* y;
  STEN_DEVICE void operator()(std::uint32_t i) const { y[i] += b[i - n.quotient(i) * n.by]; }
};

template <class Grid>
struct SumsOn {
  static void add_bias(std::int64_t rows, std::int64_t n, const float* b, float* y, Stream stream) {
    if (rows == 0 || n == 0) return;
    Grid grid(stream);
    constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;
    const std::int64_t at_once = n < most ? most / n : 1;
    for (std::int64_t r = 0; r < rows; r += at_once) {
      const std::int64_t count = rows - r < at_once ? rows - r : at_once;
      grid.launch(EachElement<AddBias>{{Divisor(n), b, y + r * n}, count * n});
    }
  }
  static void sum_rows(std::int64_t rows, std::int64_t n, const float* x, float* to,
                       Stream stream) {
    Grid grid(stream);
    sum_middle(grid, 1, rows, n, x, {nullptr, to, 1});
  }
  static void sum(const SumAxes& axes, const float* x, double count, float* to, Stream stream) {
    Grid grid(stream);
    sum_axes(grid, axes, x, {nullptr, to, count});
  }
};

}  // namespace sten::kernels
