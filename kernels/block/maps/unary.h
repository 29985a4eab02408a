// SPDX-License-Identifier: Apache-2.0
// Unary operators.
#pragma once
#include "kernels/block/elementwise/groups.h"
#include "kernels/block/map_functions.h"
#include "kernels/random.h"

namespace sten::kernels {

template <class F>
struct MapGroup {
  static constexpr int groups = segment_threads;
  UnaryParameters<float> p;
  std::int64_t n;
  const float* x;
  float* y;

  STEN_DEVICE void operator()(std::int64_t g) const {
    Group<float> v = load_group(x, n, g);
    for (int i = 0; i < 8; ++i) v.at[i] = F::value(v.at[i], p);
    store_group(y, n, g, v);
  }
};

template <class F>
struct MapGradGroup {
  static constexpr int groups = segment_threads;
  UnaryParameters<float> p;
  std::int64_t n;
  const float *dy, *saved;
  float* dx;

  STEN_DEVICE void operator()(std::int64_t g) const {
    Group<float> v = load_group(dy, n, g);
    const Group<float> k = load_group(saved, n, g);
    for (int i = 0; i < 8; ++i) v.at[i] = F::grad(v.at[i], k.at[i], p);
    store_group(dx, n, g, v);
  }
};

struct DropGroup {
  static constexpr int groups = segment_threads;
  std::uint64_t dropped, seed;
  const std::int64_t* draw;
  float by;
  std::int64_t n;
  const float* x;
  float* y;

  STEN_DEVICE void operator()(std::int64_t g) const {
    const std::uint64_t stream = draw ? random_bits(seed, static_cast<std::uint64_t>(*draw)) : seed;
    Group<float> v = load_group(x, n, g);
    for (int i = 0; i < 8; ++i) {
      const std::uint64_t number = random_bits(stream, static_cast<std::uint64_t>(8 * g + i)) >> 11;
      v.at[i] = number >= dropped ? v.at[i] * by : 0.0f;
    }
    store_group(y, n, g, v);
  }
};

template <class Grid>
struct UnaryOn {
  static void map(UnaryFunction f, UnaryParameters<float> p, std::int64_t n, const float* x,
                  float* y, Stream stream) {
    with_formula(f, [&]<class F>(F) {
      Grid(stream).launch(EachGroup<MapGroup<F>>{{p, n, x, y}, n});
    });
  }
  static void map_grad(UnaryFunction f, UnaryParameters<float> p, std::int64_t n, const float* dy,
                       const float* saved, float* dx, Stream stream) {
    with_formula(f, [&]<class F>(F) {
      Grid(stream).launch(EachGroup<MapGradGroup<F>>{{p, n, dy, saved, dx}, n});
    });
  }
  static void drop(std::uint64_t dropped, std::uint64_t seed, const std::int64_t* draw, float by,
                   std::int64_t n, const float* x, float* y, Stream stream) {
    Grid(stream).launch(EachGroup<DropGroup>{{dropped, seed, draw, by, n, x, y}, n});
  }
};

}  // namespace sten::kernels
