// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/channels.h. Compiled once per ISA, for the includer's STEN_TARGET.
#pragma once
#include <algorithm>

#include "kernels/channels.h"
#include "kernels/simd/math.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// V: see math.h.
template <class V>
struct Channels : Math<V> {
  using Base = Math<V>;
  using Base::each_vector;
  using typename Base::Vec, typename Base::Size;
  using Doubles = typename V::Doubles;

  // Rows per block, which reuse the values of a channel.
  static constexpr Size block = 8;

  // Calls f(c, row0, rows, part) for each vector of channels of each block of rows.
  template <class F>
  STEN_INLINE static void each_block(Size rows, Size n, F f) {
    for (Size r = 0; r < rows; r += block) {
      const Size some = std::min(block, rows - r);
      each_vector(n, [&](Size c, auto part) STEN_INLINE { f(c, r, some, part); });
    }
  }

  // Adds to sums[c], ...; the last part element by element, because memory ends there.
  template <class Part>
  STEN_INLINE static void add_to(const Doubles& more, Part part, double* sums) {
    double lanes[V::lanes];
    more.store(lanes);
    Size count = V::lanes;
    if constexpr (std::is_same_v<Part, typename Base::Some>) count = part.n;
    for (Size i = 0; i < count; ++i) sums[i] += lanes[i];
  }

  static void add_moments(const float* x, Size rows, Size n, const float* shift, double* sums,
                          double* squares) {
    each_block(rows, n, [&](Size c, Size r, Size some, auto part) STEN_INLINE {
      const Vec from = part.load(shift + c);
      Doubles sum = Doubles::zero(), square = Doubles::zero();
      for (Size k = r; k < r + some; ++k) {
        const Vec d = V::sub(part.load(x + k * n + c), from);
        sum.add(d);
        square.add(V::mul(d, d));
      }
      add_to(sum, part, sums + c);
      add_to(square, part, squares + c);
    });
  }

  static void scale(const float* x, Size rows, Size n, const ChannelScale& s, float* y) {
    each_block(rows, n, [&](Size c, Size r, Size some, auto part) STEN_INLINE {
      const Vec a = part.load(s.a + c), b = part.load(s.b + c);
      for (Size k = r; k < r + some; ++k) {
        Vec v = V::fma(a, part.load(x + k * n + c), b);
        if (s.relu) v = V::max(V::zero(), v);  // NaN stays NaN
        part.store(y + k * n + c, v);
      }
    });
  }

  // dy, or 0 where y <= 0.
  STEN_INLINE static Vec gradient(Vec dy, Vec x, Vec a, Vec b, bool relu) {
    if (!relu) return dy;
    // The sign bit of 0 - y is set where y > 0, but not for NaN and 0, whose gradients are 0.
    const Vec below = V::sub(V::zero(), V::max(V::fma(a, x, b), V::zero()));
    return V::where_negative(below, dy, V::zero());
  }

  static void add_gradients(const float* dy, const float* x, Size rows, Size n,
                            const ChannelScale& s, const float* mean, double* sums,
                            double* products) {
    each_block(rows, n, [&](Size c, Size r, Size some, auto part) STEN_INLINE {
      const Vec a = part.load(s.a + c), b = part.load(s.b + c), m = part.load(mean + c);
      Doubles sum = Doubles::zero(), product = Doubles::zero();
      for (Size k = r; k < r + some; ++k) {
        const Vec in = part.load(x + k * n + c);
        const Vec g = gradient(part.load(dy + k * n + c), in, a, b, s.relu);
        sum.add(g);
        product.add(V::mul(g, V::sub(in, m)));
      }
      add_to(sum, part, sums + c);
      add_to(product, part, products + c);
    });
  }

  static void scale_grad(const float* dy, const float* x, Size rows, Size n, const ChannelScale& s,
                         const float* by, const float* more, float* dx) {
    each_block(rows, n, [&](Size c, Size r, Size some, auto part) STEN_INLINE {
      const Vec a = part.load(s.a + c), b = part.load(s.b + c);
      const Vec slope = part.load(by + c), rest = part.load(more + c);
      for (Size k = r; k < r + some; ++k) {
        const Vec in = part.load(x + k * n + c);
        const Vec g = gradient(part.load(dy + k * n + c), in, a, b, s.relu);
        part.store(dx + k * n + c, V::fma(a, g, V::fma(slope, in, rest)));
      }
    });
  }

  static constexpr ChannelsTable table() { return {add_moments, scale, add_gradients, scale_grad}; }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
