// SPDX-License-Identifier: Apache-2.0
// Strided walks over the axes of tensors.
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/map_functions.h"

namespace sten::kernels {

// Exact quotients of values < 2^31 by a constant in [1, 2^31), without a division (Granlund and
// Montgomery 1994).
struct Divisor {
  std::uint32_t by = 1, factor = 1, shift = 0;

  Divisor() = default;
  explicit Divisor(std::int64_t d) : by(static_cast<std::uint32_t>(d)) {
    while ((std::uint64_t{1} << shift) < by) ++shift;
    const std::uint64_t beyond = (std::uint64_t{1} << shift) - by;
    factor = static_cast<std::uint32_t>((beyond << 32) / by + 1);
  }
  STEN_DEVICE std::uint32_t quotient(std::uint32_t n) const {
    const auto high = static_cast<std::uint32_t>(std::uint64_t{n} * factor >> 32);
    return (high + n) >> shift;
  }
};

// The axes of a MapAxes with fewer than 2^31 elements.
struct Walk {
  struct Axis {
    Divisor extent;
    std::int64_t steps[most_map_operands];
  };
  int count = 0;
  Axis at[most_map_axes];

  Walk() = default;
  explicit Walk(const MapAxes& axes) : count(axes.count) {
    for (int d = 0; d < count; ++d) {
      at[d].extent = Divisor(axes.at[d].extent);
      for (int j = 0; j < most_map_operands; ++j) at[d].steps[j] = axes.at[d].steps[j];
    }
  }
  // Offsets of element i of the walk in the first `operands` operands.
  template <int operands>
  STEN_DEVICE void find(std::uint32_t i, std::int64_t (&where)[operands]) const {
    for (int j = 0; j < operands; ++j) where[j] = 0;
    STEN_UNROLL(most_map_axes)
    for (int d = 0; d < most_map_axes; ++d) {
      if (d == count) break;
      const std::uint32_t next = d + 1 == count ? 0 : at[d].extent.quotient(i);
      const std::uint32_t k = i - next * at[d].extent.by;
      for (int j = 0; j < operands; ++j) where[j] += k * at[d].steps[j];
      i = next;
    }
  }
};

inline std::int64_t size_of(const MapAxes& axes) {
  std::int64_t n = 1;
  for (int d = 0; d < axes.count; ++d) n *= axes.at[d].extent;
  return n;
}

// Start of a part of a walk: its offset in each operand, and its first element.
struct WalkStart {
  std::int64_t at[most_map_operands] = {}, i = 0;
};

// Calls f(axes, start) for parts of a walk with fewer than `end` elements each; not at all for an
// empty walk.
template <class F>
void each_part(MapAxes axes, const WalkStart& start, F&& f,
               std::int64_t end = std::int64_t{1} << 31) {
  const std::int64_t n = size_of(axes);
  if (n == 0) return;
  if (n < end) return f(axes, start);
  while (axes.count > 1 && axes.at[axes.count - 1].extent == 1) --axes.count;
  MapAxis& outer = axes.at[axes.count - 1];
  const std::int64_t half = outer.extent / 2, rest = outer.extent - half;
  WalkStart later = start;
  for (int j = 0; j < most_map_operands; ++j) later.at[j] += half * outer.steps[j];
  later.i += half * (n / outer.extent);
  outer.extent = half;
  each_part(axes, start, f, end);
  outer.extent = rest;
  each_part(axes, later, f, end);
}

// Calls f(i, where) for element i of a walk.
template <class F, int operands>
struct WalkedElement {
  F f;
  Walk walk;
  STEN_DEVICE void operator()(std::uint32_t i) const {
    std::int64_t where[operands];
    walk.find(i, where);
    f(i, where);
  }
};
template <int operands, class Grid, class F>
void launch_each(Grid& grid, const MapAxes& axes, const F& f) {
  grid.launch(EachElement<WalkedElement<F, operands>>{{f, Walk(axes)}, size_of(axes)});
}

// make(start) returns the f of a part.
template <int operands, class Grid, class Make>
void launch_walk(Grid& grid, const MapAxes& axes, Make&& make) {
  each_part(axes, {}, [&](const MapAxes& part, const WalkStart& start) {
    launch_each<operands>(grid, part, make(start));
  });
}

}  // namespace sten::kernels
