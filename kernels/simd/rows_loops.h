// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/rows.h. Compiled once per ISA, for the includer's STEN_TARGET.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/rows.h"
#include "kernels/simd/math.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// V: see math.h.
template <class V>
struct Rows : Math<V> {
  using Base = Math<V>;
  using Base::each_vector;
  using typename Base::Vec, typename Base::Size;
  using Doubles = typename V::Doubles;

  static float greatest(const float* x, Size n) {
    const Vec least = V::set(-std::numeric_limits<float>::infinity());
    Vec most = least;
    each_vector(n, [&](Size i, auto part)
                       STEN_INLINE { most = V::max(part.others(part.load(x + i), least), most); });
    return V::greatest(most);
  }
  static double exp_sum(const float* x, Size n, float most, float* y) {
    const Vec from = V::set(most);
    Doubles sums = Doubles::zero();
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      const Vec e = part.others(Base::exp(V::sub(part.load(x + i), from)), V::zero());
      sums.add(e);
      if (y) part.store(y + i, e);
    });
    return sums.total();
  }

  static void scale(const float* x, Size n, float by, float* y) {
    const Vec factor = V::set(by);
    each_vector(n, [&](Size i, auto part)
                       STEN_INLINE { part.store(y + i, V::mul(factor, part.load(x + i))); });
  }

  static void softmax(const float* x, Size n, float by, float* y) {
    const Vec factor = V::set(by), least = V::set(-std::numeric_limits<float>::infinity());
    Vec most = least;
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      const Vec v = V::mul(factor, part.load(x + i));
      most = V::max(part.others(v, least), most);
      part.store(y + i, v);
    });
    const double all = exp_sum(y, n, V::greatest(most), y);
    scale(y, n, static_cast<float>(1 / all), y);
  }

  static void softmax_grad(const float* dy, const float* y, Size n, float by, float* dx) {
    Doubles sums = Doubles::zero();
    each_vector(n, [&](Size i, auto part)
                       STEN_INLINE { sums.add(V::mul(part.load(y + i), part.load(dy + i))); });
    const Vec mean = V::set(static_cast<float>(sums.total())), factor = V::set(by);
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      const Vec v = V::mul(factor, part.load(y + i));
      part.store(dx + i, V::mul(v, V::sub(part.load(dy + i), mean)));
    });
  }

  static RowMoments moments(const float* x, Size n, double eps) {
    const auto count = static_cast<double>(n);
    Doubles sums = Doubles::zero();
    each_vector(n, [&](Size i, auto part) STEN_INLINE { sums.add(part.load(x + i)); });
    const double mean = sums.total() / count;
    const auto near = static_cast<float>(mean), rest = static_cast<float>(mean - near);
    const Vec a = V::set(near), b = V::set(rest);
    Doubles squares = Doubles::zero();
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      const Vec d = part.others(V::sub(V::sub(part.load(x + i), a), b), V::zero());
      squares.add(V::mul(d, d));
    });
    const double deviation = std::sqrt(squares.total() / count + eps);
    return {near, rest, static_cast<float>(1 / deviation)};
  }

  struct Normalizer {
    Vec mean, rest, by;
    explicit Normalizer(const RowMoments& s)
        : mean(V::set(s.mean)), rest(V::set(s.rest)), by(V::set(s.by)) {}
    STEN_INLINE Vec operator()(Vec x) const { return V::mul(V::sub(V::sub(x, mean), rest), by); }
  };

  static void normalize(const RowMoments& s, const float* x, Size n, const float* gamma,
                        const float* beta, float* y) {
    const Normalizer z(s);
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      part.store(y + i, V::fma(z(part.load(x + i)), part.load(gamma + i), part.load(beta + i)));
    });
  }

  static void normalize_grad(const RowMoments& s, const float* dy, const float* x, Size n,
                             const float* gamma, float* dx) {
    const Normalizer z(s);
    Doubles sums = Doubles::zero(), products = Doubles::zero();
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      const Vec g = V::mul(part.load(dy + i), part.load(gamma + i));
      sums.add(g);
      products.add(V::mul(g, z(part.load(x + i))));
    });
    const auto count = static_cast<double>(n);
    const Vec mean = V::set(static_cast<float>(sums.total() / count));
    const Vec along = V::set(static_cast<float>(products.total() / count));
    each_vector(n, [&](Size i, auto part) STEN_INLINE {
      const Vec g = V::mul(part.load(dy + i), part.load(gamma + i));
      const Vec d = V::fnma(z(part.load(x + i)), along, V::sub(g, mean));
      part.store(dx + i, V::mul(z.by, d));
    });
  }

  static void add_normalized(const RowMoments& s, const float* dy, const float* x, Size n,
                             double* gamma, double* beta) {
    const Normalizer z(s);
    Size i = 0;
    for (; i + V::lanes <= n; i += V::lanes) {
      const Vec d = V::load(dy + i);
      add_to(V::mul(d, z(V::load(x + i))), gamma + i);
      add_to(d, beta + i);
    }
    for (; i < n; ++i) {
      gamma[i] += dy[i] * ((x[i] - s.mean - s.rest) * s.by);
      beta[i] += dy[i];
    }
  }
  STEN_INLINE static void add_to(Vec v, double* sums) {
    Doubles s = Doubles::load(sums);
    s.add(v);
    s.store(sums);
  }

  // Four rows at a time, which loads and stores the sums less often.
  static void add_rows(const float* x, Size stride, Size rows, Size n, double* sums) {
    for (Size r = 0; r < rows; r += 4) {
      const Size count = std::min<Size>(4, rows - r);
      const float* row = x + r * stride;
      Size i = 0;
      for (; i + V::lanes <= n; i += V::lanes) {
        Doubles s = Doubles::load(sums + i);
        for (Size k = 0; k < count; ++k) s.add(V::load(row + k * stride + i));
        s.store(sums + i);
      }
      for (; i < n; ++i)
        for (Size k = 0; k < count; ++k) sums[i] += row[k * stride + i];
    }
  }

  // Products of x with some rows, which are `apart` floats apart, as their results y are `y_apart`.
  // Each row has two sums, so that the additions need not wait for each other.
  template <std::size_t rows>
  STEN_INLINE static void dot(const float* a, Size apart, Size n, const float* x, float* y,
                              Size y_apart) {
    constexpr Size ahead = 64, line = 64 / sizeof(float), step = 2 * V::lanes;
    Vec sums[rows][2];
    each<rows>([&](auto r)
                   STEN_INLINE { each<2>([&](auto k) STEN_INLINE { sums[r][k] = V::zero(); }); });
    Size i = 0;
    for (; i + step <= n; i += step)
      each<2>([&](auto k) STEN_INLINE {
        constexpr Size at = Size{k} * V::lanes;
        const Vec factor = V::load(x + i + at);
        each<rows>([&](auto r) STEN_INLINE {
          const float* p = a + Size{r} * apart + i + at;
          if constexpr (at % line == 0) __builtin_prefetch(p + ahead, 0, 3);
          sums[r][k] = V::fma(V::load(p), factor, sums[r][k]);
        });
      });
    each_vector(n - i, [&](Size j, auto part) STEN_INLINE {
      const Vec factor = part.load(x + i + j);
      each<rows>([&](auto r) STEN_INLINE {
        sums[r][0] = V::fma(part.load(a + Size{r} * apart + i + j), factor, sums[r][0]);
      });
    });
    each<rows>([&](auto r) STEN_INLINE {
      Doubles all = Doubles::zero();
      all.add(V::add(sums[r][0], sums[r][1]));
      y[Size{r} * y_apart] = static_cast<float>(all.total());
    });
  }
  // Reads the quarters of A side by side (docs/kernels.md: streams).
  static void multiply_vector(const float* a, Size rows, Size n, const float* x, float* y) {
    const Size quarter = rows / 4;
    for (Size r = 0; r < quarter; ++r) dot<4>(a + r * n, quarter * n, n, x, y + r, quarter);
    for (Size r = 4 * quarter; r < rows; ++r) dot<1>(a + r * n, 0, n, x, y + r, 0);
  }

  static constexpr RowsTable table() {
    return {greatest,  exp_sum,        scale,          softmax,  softmax_grad,   moments,
            normalize, normalize_grad, add_normalized, add_rows, multiply_vector};
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
