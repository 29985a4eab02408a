// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/language_instructions.h"

#include <cmath>

#include "libsten/core/base/scratch.h"
#include "libsten/model/execution/interleaved_rows.h"

namespace sten::execution {
namespace {

// Panel p of a value as floats; interleaved values are widened to memory.of().
const float* floats_of_panel(const TokenGroup& g, std::size_t value, Index features, Index p,
                             bool interleaved, Scratch& memory) {
  if (!interleaved) return g.at[value] + p * features * g.lanes;
  float* wide = memory.of(features * g.lanes);
  widen_panel(interleaved_panel(g, value, features, p), features, g.lanes, wide);
  return wide;
}

// Calls f(p, to) for each panel, with float memory for the result, which is rounded if interleaved.
template <class F>
void each_result(const TokenGroup& g, std::size_t value, Index features, bool interleaved, F&& f) {
  each_panel(g.count, [&](Index p, Index) {
    if (!interleaved) return f(p, g.at[value] + p * features * g.lanes);
    thread_local Scratch memory;
    float* wide = memory.of(features * g.lanes);
    f(p, wide);
    round_panel(wide, features, g.lanes, interleaved_panel(g, value, features, p));
  });
}

// The loops below have a constant length, and rows of their own, so that they are vectorized
// although results can be inputs.
constexpr Index row_length = 16;

// Calls f(i, n) with the constant n = row_length, then with n = 1 for the rest.
template <class F>
void each_row(Index size, F&& f) {
  Index i = 0;
  for (; i + row_length <= size; i += row_length) f(i, std::integral_constant<Index, row_length>{});
  for (; i < size; ++i) f(i, std::integral_constant<Index, 1>{});
}

template <Index lanes>
void normalize_run(const float* x, const std::vector<float>& factors, float eps, float* y) {
  constexpr Index at_once = 64;  // shorter sums are more accurate
  const Index n = std::ssize(factors);
  float sums[lanes] = {};
  for (Index first = 0; first < n; first += at_once) {
    float some[lanes] = {};
    for (Index r = first; r < std::min(n, first + at_once); ++r)
      for (Index t = 0; t < lanes; ++t) some[t] += x[r * lanes + t] * x[r * lanes + t];
    for (Index t = 0; t < lanes; ++t) sums[t] += some[t];
  }
  for (Index t = 0; t < lanes; ++t) sums[t] = 1 / std::sqrt(sums[t] / static_cast<float>(n) + eps);
  if constexpr (lanes == 1) {
    each_row(n, [&](Index at, auto count) {
      float row[count];
      for (Index i = 0; i < count; ++i) row[i] = x[at + i] * sums[0] * factors[at + i];
      std::copy_n(row, Index{count}, y + at);
    });
  } else {
    for (Index r = 0; r < n; ++r) {
      float row[lanes];
      for (Index t = 0; t < lanes; ++t) row[t] = x[r * lanes + t] * sums[t] * factors[r];
      std::copy_n(row, lanes, y + r * lanes);
    }
  }
}

template <Index n>
void rotate_row(const float* p, const float* q, const float* cos, const float* sin, float* to_p,
                float* to_q) {
  float a[n], b[n];
  for (Index i = 0; i < n; ++i) {
    a[i] = p[i] * cos[i] - q[i] * sin[i];
    b[i] = q[i] * cos[i] + p[i] * sin[i];
  }
  std::copy_n(a, n, to_p);
  std::copy_n(b, n, to_q);
}

template <Index lanes>
void rotate_head(const RotaryInstruction& s, const float* cos, const float* sin, const float* x,
                 float* y) {
  const Index size = s.by->pairs * lanes;
  if (s.pairs_neighbours)
    for (Index i = 0; i < size; i += lanes)
      rotate_row<lanes>(x + 2 * i, x + 2 * i + lanes, cos + i, sin + i, y + 2 * i,
                        y + 2 * i + lanes);
  else
    each_row(size, [&](Index i, auto n) {
      rotate_row<n>(x + i, x + size + i, cos + i, sin + i, y + i, y + size + i);
    });
  if (x != y) std::copy_n(x + 2 * size, s.width * lanes - 2 * size, y + 2 * size);
}

// Calls f with the number of lanes as a constant.
template <class F>
void with_lanes(Index lanes, F&& f) {
  if (lanes == 1)
    f(std::integral_constant<Index, 1>{});
  else if (lanes == narrow_panel_width)
    f(std::integral_constant<Index, narrow_panel_width>{});
  else
    f(std::integral_constant<Index, panel_width>{});
}

}  // namespace

void RmsNormInstruction::run(const TokenGroup& g) const {
  each_result(g, y, features, interleaved, [&](Index p, float* to) {
    thread_local Scratch memory;
    const float* from = floats_of_panel(g, x, features, p, from_interleaved, memory);
    with_lanes(g.lanes, [&](auto lanes) {
      for (Index f = 0; f < features; f += std::ssize(factors))
        normalize_run<lanes>(from + f * lanes, factors, eps, to + f * lanes);
    });
  });
}

void RotaryInstruction::run(const TokenGroup& g) const {
  each_result(g, y, features, interleaved, [&](Index p, float* to) {
    thread_local Scratch memory;
    const float* from = floats_of_panel(g, x, features, p, interleaved, memory);
    const Index at = (g.first / panel_width + p) * by->pairs * g.lanes;
    with_lanes(g.lanes, [&](auto lanes) {
      for (Index f = 0; f < features; f += width)
        rotate_head<lanes>(*this, by->cos.data() + at, by->sin.data() + at, from + f * lanes,
                           to + f * lanes);
    });
  });
}

void MultiplyInstruction::run(const TokenGroup& g) const {
  each_result(g, y, features, interleaved, [&](Index p, float* to) {
    thread_local Scratch memory, other;
    const float* from = floats_of_panel(g, a, features, p, interleaved, memory);
    const float* by = floats_of_panel(g, b, features, p, interleaved, other);
    each_row(features * g.lanes, [&](Index at, auto n) {
      float row[n];
      for (Index i = 0; i < n; ++i) row[i] = from[at + i] * by[at + i];
      std::copy_n(row, Index{n}, to + at);
    });
  });
}

void SliceInstruction::run(const TokenGroup& g) const {
  each_panel(g.count, [&](Index p, Index) {
    if (!interleaved) {
      std::copy_n(g.at[x] + (p * features + begin) * g.lanes, count * g.lanes,
                  g.at[y] + p * count * g.lanes);
      return;
    }
    std::uint16_t* to = interleaved_panel(g, y, count, p);
    std::copy_n(interleaved_panel(g, x, features, p) + begin * g.lanes, count * g.lanes, to);
    clear_padding(to, count, g.lanes);
  });
}

}  // namespace sten::execution
