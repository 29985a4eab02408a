// SPDX-License-Identifier: Apache-2.0
// Strided copies and casts.
#pragma once
#include <limits>

#include "kernels/block/elementwise/groups.h"
#include "kernels/block/maps/walk.h"

namespace sten::kernels {

struct alignas(16) Bytes16 {
  std::uint64_t half[2];
};

template <class U>
struct MoveWalked {
  const U* x;
  U* y;
  STEN_DEVICE void operator()(std::uint32_t, const std::int64_t (&at)[2]) const {
    y[at[1]] = x[at[0]];
  }
};

// Transposition of two axes, one contiguous in x and the other in y, by tiles of 32 x 32, so that
// reads and writes are coalesced.
template <class U>
struct MoveTiles {
  static constexpr int side = 32, height = 8, threads = side * height, pitch = side + 1;
  const U* x;
  U* y;
  std::int64_t in_extent, in_step;    // the axis contiguous in x; its step in y
  std::int64_t out_extent, out_step;  // the axis contiguous in y; its step in x
  Walk others;
  std::int64_t matrices;

  STEN_HOST_DEVICE static std::int64_t tiles(std::int64_t extent) {
    return (extent + side - 1) / side;
  }
  std::int64_t blocks() const { return matrices * tiles(in_extent) * tiles(out_extent); }
  std::size_t shared_bytes() const { return (side * pitch * sizeof(U) + 15) / 16 * 16; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    auto tile = b.template shared<U>(side * pitch);
    const std::int64_t across = tiles(in_extent), of_matrix = across * tiles(out_extent);
    std::int64_t where[2];
    others.find(static_cast<std::uint32_t>(block / of_matrix), where);
    const std::int64_t in0 = block % of_matrix % across * side,
                       out0 = block % of_matrix / across * side;
    const U* from = x + where[0] + in0 + out0 * out_step;
    U* to = y + where[1] + out0 + in0 * in_step;
    const auto count = [](std::int64_t left) {
      return left < side ? static_cast<int>(left) : side;
    };
    const int ins = count(in_extent - in0), outs = count(out_extent - out0);
    b.for_each_thread([&](int t) {
      const int in = t % side;
      for (int out = t / side; in < ins && out < outs; out += height)
        tile[out * pitch + in] = from[in + out * out_step];
    });
    b.for_each_thread([&](int t) {
      const int out = t % side;
      for (int in = t / side; out < outs && in < ins; in += height)
        to[out + in * in_step] = tile[out * pitch + in];
    });
  }
};

STEN_DEVICE inline std::int64_t to_integer(float v) {
  constexpr float end = 9223372036854775808.0f;  // 2^63
  if (v != v) return 0;
  if (v >= end) return std::numeric_limits<std::int64_t>::max();
  return v > -end ? static_cast<std::int64_t>(v) : std::numeric_limits<std::int64_t>::min();
}
struct Truth {
  std::uint8_t byte;
};
template <class To, class From>
STEN_DEVICE To cast_to(From v) {
  if constexpr (std::is_same_v<From, Truth>)
    return static_cast<To>(v.byte != 0);
  else if constexpr (std::is_same_v<To, Truth>)
    return {static_cast<std::uint8_t>(v != 0)};
  else if constexpr (std::is_same_v<To, std::int64_t>)
    return to_integer(v);
  else
    return static_cast<To>(v);
}

template <class From, class To>
struct CastElement {
  const From* x;
  To* y;
  STEN_DEVICE void operator()(std::int64_t i) const { y[i] = cast_to<To>(x[i]); }
};

template <class Grid>
struct MovesOn {
  // The axis along which operand j is contiguous; -1 if there is none.
  static int ordered(const MapAxes& axes, int j) {
    for (int d = 0; d < axes.count; ++d)
      if (axes.at[d].steps[j] == 1 && axes.at[d].extent > 1) return d;
    return -1;
  }
  static bool is_even(std::int64_t v) { return v % 2 == 0; }
  // Merges pairs of elements to one element of twice the width if they are neighbours in both
  // tensors.
  static bool widen(MapAxes& axes, const void* x, const void* y, int width) {
    const auto is_aligned = [&](const void* p) {
      return reinterpret_cast<std::uintptr_t>(p) % (2 * static_cast<std::size_t>(width)) == 0;
    };
    const MapAxis& inner = axes.at[0];
    bool can = width < 16 && inner.steps[0] == 1 && inner.steps[1] == 1 && is_even(inner.extent) &&
               is_aligned(x) && is_aligned(y);
    for (int d = 1; d < axes.count; ++d)
      can = can && is_even(axes.at[d].steps[0]) && is_even(axes.at[d].steps[1]);
    if (!can) return false;
    axes.at[0].extent /= 2;
    for (int d = 1; d < axes.count; ++d) {
      axes.at[d].steps[0] /= 2;
      axes.at[d].steps[1] /= 2;
    }
    return true;
  }

  template <class U>
  static void move_tiles(Grid& grid, const MapAxes& axes, int in, int out, const U* x, U* y) {
    const MapAxis &a = axes.at[in], &b = axes.at[out];
    MapAxes others;
    others.count = 0;
    for (int d = 0; d < axes.count; ++d)
      if (d != in && d != out) others.at[others.count++] = axes.at[d];
    if (others.count == 0) others = MapAxes{};
    grid.launch(MoveTiles<U>{x, y, a.extent, a.steps[1], b.extent, b.steps[0], Walk(others),
                             size_of(others)});
  }
  template <class U>
  static void move_of(Grid& grid, const MapAxes& all, const void* x, void* y) {
    constexpr std::int64_t least = 8;  // minimum extent of the two axes
    each_part(all, {}, [&](const MapAxes& axes, const WalkStart& s) {
      const U* from = static_cast<const U*>(x) + s.at[0];
      U* to = static_cast<U*>(y) + s.at[1];
      const int in = ordered(axes, 0), out = ordered(axes, 1);
      if constexpr (sizeof(U) <= 8)
        if (in >= 0 && out >= 0 && in != out && axes.at[in].extent >= least &&
            axes.at[out].extent >= least)
          return move_tiles(grid, axes, in, out, from, to);
      launch_each<2>(grid, axes, MoveWalked<U>{from, to});
    });
  }
  static void move(int width, const MapAxes& given, const void* x, void* y, Stream stream) {
    Grid grid(stream);
    MapAxes axes = given;
    while (widen(axes, x, y, width)) width *= 2;
    if (width == 16) return move_of<Bytes16>(grid, axes, x, y);
    with_unsigned(width, [&]<class U>(U) { move_of<U>(grid, axes, x, y); });
  }

  template <class F>
  static void with_kind(ElementKind kind, F&& f) {
    switch (kind) {
      case ElementKind::f32:
        return f(float{});
      case ElementKind::i64:
        return f(std::int64_t{});
      case ElementKind::truth:
        return f(Truth{});
    }
  }
  static void cast(ElementKind from, ElementKind to, std::int64_t n, const void* x, void* y,
                   Stream stream) {
    with_kind(from, [&]<class From>(From) {
      with_kind(to, [&]<class To>(To) {
        if constexpr (!std::is_same_v<From, To>)
          Grid(stream).launch(EachElement<CastElement<From, To>>{
              {static_cast<const From*>(x), static_cast<To*>(y)}, n});
      });
    });
  }
};

}  // namespace sten::kernels
