// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/sum_axes.h"

namespace sten {
namespace {

struct SummedAxis {
  Index extent, stride;
};
using SummedAxes = std::vector<SummedAxis>;

// The offset of element i along these axes, the last one innermost.
Index offset_of(const SummedAxes& axes, Index i) {
  Index offset = 0;
  for (std::size_t d = axes.size(); d-- > 1;) {
    offset += i % axes[d].extent * axes[d].stride;
    i /= axes[d].extent;
  }
  return axes.empty() ? 0 : offset + i * axes[0].stride;
}

Index count_of(const SummedAxes& axes) {
  Index n = 1;
  for (const SummedAxis& a : axes) n *= a.extent;
  return n;
}

// Summed axes and others; neighbours of one kind are merged.
struct Split {
  SummedAxes remaining, summed;
  bool sums_last = false;

  Split(const Shape& shape, const std::vector<bool>& over) {
    Index stride = 1;
    const SummedAxes* before = nullptr;
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (shape[d] == 1) continue;
      SummedAxes& axes = over[d] ? summed : remaining;
      if (!before) sums_last = over[d];
      if (before == &axes)
        axes.back().extent *= shape[d];
      else
        axes.push_back({shape[d], stride});
      before = &axes;
      stride *= shape[d];
    }
    std::ranges::reverse(remaining);
    std::ranges::reverse(summed);
  }
};

template <class T>
void sum_rows(const T* x, const Split& s, std::vector<double>& to) {
  const SummedAxes outer(s.summed.begin(), s.summed.end() - 1);
  const Index run = s.summed.back().extent, runs = count_of(outer);
  const Index grain = std::max<Index>(1, (Index{1} << 14) / (run * runs));
  parallel_for(std::ssize(to), grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const T* first = x + offset_of(s.remaining, i);
      double sum = 0;
      for (Index r = 0; r < runs; ++r) sum += sum_run(first + offset_of(outer, r), run);
      to[i] = sum;
    }
  });
}

template <class T>
void sum_columns(const T* x, const Split& s, std::vector<double>& to) {
  constexpr Index width = 128;
  const SummedAxes outer(s.remaining.begin(), s.remaining.end() - 1);
  const Index cols = s.remaining.back().extent, rows = count_of(s.summed);
  const Index blocks = ceil_div(cols, width);
  parallel_for(count_of(outer) * blocks, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index at = i / blocks, col = i % blocks * width, count = std::min(width, cols - col);
      const T* first = x + offset_of(outer, at) + col;
      double sums[width] = {};
      for (Index r = 0; r < rows; ++r) {
        const T* row = first + offset_of(s.summed, r);
        for (Index c = 0; c < count; ++c) sums[c] += row[c];
      }
      std::copy_n(sums, count, to.data() + at * cols + col);
    }
  });
}

}  // namespace

template <class T>
std::vector<double> sum_axes(const T* x, const Shape& shape, const std::vector<bool>& over) {
  Index outputs = 1;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!over[d]) outputs *= shape[d];
  std::vector<double> to(outputs);
  const Index n = size_of(shape);
  if (n == 0) return to;
  const Split s(shape, over);
  if (outputs == 1)
    to[0] = sum_on_threads(n, [x](Index i) { return double{x[i]}; });
  else if (s.sums_last)
    sum_rows(x, s, to);
  else
    sum_columns(x, s, to);
  return to;
}

template std::vector<double> sum_axes(const float*, const Shape&, const std::vector<bool>&);
template std::vector<double> sum_axes(const double*, const Shape&, const std::vector<bool>&);

}  // namespace sten
