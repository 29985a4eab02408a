// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/functions.h. Compiled once per ISA, for the includer's STEN_TARGET.
#pragma once
#include "kernels/functions.h"
#include "kernels/simd/math.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// V: see math.h.
template <class V>
struct Functions : Math<V> {
  using Base = Math<V>;
  using Base::each_vector;
  using typename Base::Vec, typename Base::Size;

  static void tanh(const float* x, Size n, float* y) {
    each_vector(
        n, [&](Size i, auto part) STEN_INLINE { part.store(y + i, Base::tanh(part.load(x + i))); });
  }
  static void sigmoid(const float* x, Size n, float* y) {
    each_vector(n, [&](Size i, auto part)
                       STEN_INLINE { part.store(y + i, Base::sigmoid(part.load(x + i))); });
  }
  static void gelu(const float* x, Size n, float* y) {
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      const Vec v = part.load(x + i);
      part.store(y + i, V::mul(v, Base::normal(v).below));
    });
  }
  // Values below the bounds, including -inf, give 0.
  static void gelu_tanh(const float* x, Size n, float* y) {
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      const Vec v = part.load(x + i);
      part.store(y + i, V::mul(V::max(V::set(-20), v), Base::gelu_tanh_share(v)));
    });
  }
  static void silu(const float* x, Size n, float* y) {
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      const Vec v = part.load(x + i);
      part.store(y + i, V::mul(V::max(V::set(-104), v), Base::sigmoid(v)));
    });
  }
  static void gelu_grad(const float* dy, const float* x, Size n, float* dx) {
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      const Vec v = part.load(x + i);
      const auto p = Base::normal(v);
      part.store(dx + i, V::mul(part.load(dy + i), V::fma(v, p.density, p.below)));
    });
  }
  static void adamw(const AdamWStep& s, float* w, const float* g, float* m, float* v, Size n) {
    const Vec decay = V::set(s.decay), rate = V::set(s.rate), root = V::set(s.root);
    const Vec eps = V::set(s.eps), toward1 = V::set(s.toward1), toward2 = V::set(s.toward2);
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      const Vec gi = part.load(g + i), wi = part.load(w + i);
      const Vec m0 = part.load(m + i), v0 = part.load(v + i);
      const Vec mi = V::fma(toward1, V::sub(gi, m0), m0);
      const Vec vi = V::fma(toward2, V::fms(gi, gi, v0), v0);
      const Vec by = V::div(V::mul(rate, mi), V::fma(root, V::sqrt(vi), eps));
      part.store(m + i, mi);
      part.store(v + i, vi);
      part.store(w + i, V::sub(wi, V::fma(decay, wi, by)));
    });
  }

  static constexpr FunctionsTable table() {
    return {tanh, sigmoid, gelu, gelu_tanh, silu, gelu_grad, adamw};
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
