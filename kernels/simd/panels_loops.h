// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/panels.h: attention, layer normalization and products. Compiled once per
// ISA, for the includer's STEN_TARGET.
#pragma once
#include <algorithm>
#include <limits>

#include "kernels/panels.h"
#include "kernels/simd/math.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// L: see math.h. The sums of up to L::part vectors of each of up to L::most_rows rows are computed
// at a time; the columns of these vectors are a part. lanes: tokens side by side, except of keys,
// whose panels are always panel_width wide.
template <class L, std::int64_t lanes>
struct Panels : Math<L> {
  using Base = Math<L>;
  using typename Base::Vec, typename Base::Size;
  static constexpr Size vectors = lanes / L::lanes;
  static constexpr Size part = L::part < vectors ? L::part : vectors, step = part * L::lanes;

  // A factor of a product: element (r, k) is at[r * rows + k * columns].
  struct Factor {
    const float* at;
    Size rows, columns;
  };

  template <std::size_t rows>
  struct Sums {
    Vec of[rows][part];

    template <class F>
    STEN_INLINE void set(F&& f) {
      each<rows>([&](auto i)
                     STEN_INLINE { each<part>([&](auto j) STEN_INLINE { of[i][j] = f(i, j); }); });
    }
    // b [depth, lanes], from the part's first column on. Calls f(k) before each k.
    template <class F>
    STEN_INLINE void add(Factor a, const float* b, Size depth, F&& f) {
      for (Size k = 0; k < depth; ++k, b += lanes) {
        f(k);
        Vec in[part];
        each<part>([&](auto j) STEN_INLINE { in[j] = L::in_register(L::load(b + j * L::lanes)); });
        const float* from = a.at + k * a.columns;
        each<rows>([&](auto i) STEN_INLINE {
          const Vec value = L::one(from + i * a.rows);
          each<part>([&](auto j) STEN_INLINE { of[i][j] = L::fma(value, in[j], of[i][j]); });
        });
      }
    }
    STEN_INLINE void add(Factor a, const float* b, Size depth) {
      add(a, b, depth, [](Size) STEN_INLINE {});
    }
    template <class F>
    STEN_INLINE void store(float* c, F&& f) const {
      each<rows>([&](auto i) STEN_INLINE {
        each<part>([&](auto j)
                       STEN_INLINE { L::store(c + i * lanes + j * L::lanes, f(of[i][j])); });
      });
    }
  };

  // Prefetches the next rows of a row-major A and of C into L1, as much per line of A as arrives in
  // time after 128 columns. Without it, operands beyond L2 come too late (AVX-512, 3072x768 and
  // 768x3072, one panel: 1.15 and 1.2 times as fast with it).
  template <std::size_t rows>
  struct Fetch {
    static constexpr Size line = 64 / sizeof(float), usual_depth = 128;
    Factor a;
    const float* c;

    STEN_INLINE void operator()(Size k) const {
      if (k % line != 0) return;
      constexpr std::size_t at_once = (rows * lanes) / usual_depth;
      each<rows>([&](auto i)
                     STEN_INLINE { __builtin_prefetch(a.at + (rows + i) * a.rows + k, 0, 3); });
      each<at_once>([&](auto i) STEN_INLINE {
        __builtin_prefetch(c + rows * lanes + (k / line * at_once + i) * line, 1, 3);
      });
    }
  };

  // C += A * B for some rows. begin(j, C) initializes C before, for vector j of the part.
  template <std::size_t rows, bool fetches, class F>
  STEN_INLINE static void add_rows(Factor a, const float* b, Size depth, float* c, F&& begin) {
    for (Size at = 0; at < lanes; at += step) {
      Sums<rows> sums;
      sums.set([&](auto i, auto j) STEN_INLINE {
        return begin(at / L::lanes + j, c + i * lanes + at + j * L::lanes);
      });
      if (depth == 0) {
        // b can be null.
      } else if (fetches && at == 0) {
        sums.add(a, b + at, depth, Fetch<rows>{a, c});
      } else {
        sums.add(a, b + at, depth);
      }
      sums.store(c + at, [](auto v) STEN_INLINE { return v; });
    }
  }
  // The same for any number of rows.
  template <std::size_t most, bool fetches, class F>
  STEN_INLINE static void add_all(Factor a, Size rows, const float* b, Size depth, float* c,
                                  F&& begin) {
    Size r = 0;
    for (; r + Size{most} <= rows; r += most)
      add_rows<most, fetches>({a.at + r * a.rows, a.rows, a.columns}, b, depth, c + r * lanes,
                              begin);
    if constexpr (most > 1)
      add_all<most / 2, false>({a.at + r * a.rows, a.rows, a.columns}, rows - r, b, depth,
                               c + r * lanes, begin);
  }

  static void multiply(const float* a, Size lda, Size rows, Size depth, const float* b, bool more,
                       float* c) {
    const Factor factor{a, lda, 1};
    if (more)
      add_all<L::most_rows, true>(factor, rows, b, depth, c,
                                  [](auto, const float* p) STEN_INLINE { return L::load(p); });
    else
      add_all<L::most_rows, true>(factor, rows, b, depth, c,
                                  [](auto, const float*) STEN_INLINE { return L::zero(); });
  }

  // b log2(e), clamped to stay finite if b is: if all keys have the lowest value, the softmax
  // differs from that of -inf.
  STEN_INLINE static Vec bias_of(Vec b) {
    const Vec a = L::abs(b), most = L::set(std::numeric_limits<float>::max());
    return L::with_sign(L::max(a, L::min(most, L::mul(a, L::set(1.44269504f)))), b);
  }
  STEN_INLINE static void add_bias(const Attention& a, Size first, Size count) {
    for (Size j = 0; j < count; ++j) {
      float* row = a.scores + j * lanes;
      const float* b = a.bias + (first + j) * a.bias_step;
      const Vec one = bias_of(L::one(b));
      each<vectors>([&](auto i) STEN_INLINE {
        const Size at = i * L::lanes;
        const Vec more = a.bias_step == 1 ? one : bias_of(L::load(b + at));
        L::store(row + at, L::add(L::load(row + at), more));
      });
    }
  }

  // Replaces s by c tanh(s / c) log2(e).
  STEN_INLINE static void cap_scores(const Attention& a, Size count) {
    const Vec share = L::set(1 / a.soft_cap), by = L::set(a.soft_cap * 1.44269504f);
    for (Size i = 0; i < count * lanes; i += L::lanes)
      L::store(a.scores + i, L::mul(by, Base::tanh(L::mul(share, L::load(a.scores + i)))));
  }

  // scores [count, lanes] of the keys of a panel, times log2(e).
  STEN_INLINE static void score(const Attention& a, Size first, Size count) {
    const Vec by = L::set(a.soft_cap > 0 ? a.scale : a.scale * 1.44269504f);
    const float* k = a.k + first / panel_width * a.k_step;
    // Four at a time, which panels always have room for.
    for (Size j = 0; j < count; j += 4)
      for (Size at = 0; at < lanes; at += step) {
        Sums<4> sums;
        sums.set([](auto, auto) STEN_INLINE { return L::zero(); });
        sums.add({k + j, 1, panel_width}, a.q + at, a.width);
        sums.store(a.scores + j * lanes + at, [&](auto v) STEN_INLINE { return L::mul(v, by); });
      }
    if (a.soft_cap > 0) cap_scores(a, count);
    if (a.bias) add_bias(a, first, count);
    constexpr float none = -std::numeric_limits<float>::infinity();
    // The first queries of the panel do not see its last keys.
    for (Size j = std::max<Size>(0, a.before - first); j < count; ++j)
      std::fill_n(a.scores + j * lanes, std::min<Size>(lanes, first + j - a.before + 1), none);
    // The last queries do not see its first keys.
    for (Size j = 0; j < std::min(count, a.from + lanes - 1 - first); ++j) {
      const Size sees = std::max<Size>(0, first + j - a.from + 1);
      std::fill_n(a.scores + j * lanes + sees, lanes - sees, none);
    }
    if (!a.seen) return;
    const Vec hidden = L::set(none);
    for (Size j = 0; j < count; ++j)
      if (!a.seen[first + j])
        each<vectors>([&](auto i)
                          STEN_INLINE { L::store(a.scores + j * lanes + i * L::lanes, hidden); });
  }

  // Per query: the maximum score so far, the sum of e^(score - maximum), and the factor by which
  // the last panel of keys rescales earlier sums.
  struct Queries {
    alignas(64) float most[lanes], all[lanes], factor[lanes];
  };

  STEN_INLINE static void weigh(float* scores, Size count, Queries& queries) {
    for (Size at = 0; at < lanes; at += step) {
      Vec most[part], all[part];
      each<part>([&](auto j) STEN_INLINE { most[j] = L::load(queries.most + at + j * L::lanes); });
      float* row = scores + at;
      for (Size k = 0; k < count; ++k, row += lanes)
        each<part>([&](auto j)
                       STEN_INLINE { most[j] = L::max(L::load(row + j * L::lanes), most[j]); });
      each<part>([&](auto j) STEN_INLINE {
        const Size i = at + j * L::lanes;
        const Vec factor = Base::exp2(L::sub(L::load(queries.most + i), most[j]));
        all[j] = L::mul(factor, L::load(queries.all + i));
        L::store(queries.factor + i, factor);
        L::store(queries.most + i, most[j]);
      });
      row = scores + at;
      for (Size k = 0; k < count; ++k, row += lanes)
        each<part>([&](auto j) STEN_INLINE {
          const Vec e = Base::exp2(L::sub(L::load(row + j * L::lanes), most[j]));
          L::store(row + j * L::lanes, e);
          all[j] = L::add(all[j], e);
        });
      each<part>([&](auto j) STEN_INLINE { L::store(queries.all + at + j * L::lanes, all[j]); });
    }
  }

  static void attend(const Attention& a) {
    Queries queries;
    // The lowest float, because -inf - (-inf) is NaN.
    std::fill_n(queries.most, lanes, std::numeric_limits<float>::lowest());
    std::fill_n(queries.all, lanes, 0.0f);
    const Size begin = std::max<Size>(0, a.from) / panel_width * panel_width;
    for (Size first = begin; first < a.keys; first += panel_width) {
      const Size count = std::min<Size>(panel_width, a.keys - first);
      score(a, first, count);
      weigh(a.scores, count, queries);
      const Factor v{a.v + first / panel_width * a.v_step, panel_width, 1};
      if (first == begin)
        add_all<L::value_rows, false>(v, a.v_width, a.scores, count, a.y,
                                      [](auto, const float*) STEN_INLINE { return L::zero(); });
      else
        add_all<L::value_rows, false>(
            v, a.v_width, a.scores, count, a.y, [&](auto j, const float* p) STEN_INLINE {
              return L::mul(L::load(queries.factor + j * L::lanes), L::load(p));
            });
    }
    // A sum of 0 belongs to a query that sees no key.
    const Vec least = L::set(std::numeric_limits<float>::min());
    each<vectors>([&](auto j) STEN_INLINE {
      const Vec all = L::load(queries.all + j * L::lanes);
      const Vec by = L::div(L::set(1), L::max(least, all));
      float* y = a.y + j * L::lanes;
      for (Size r = 0; r < a.v_width; ++r, y += lanes) L::store(y, L::mul(by, L::load(y)));
    });
  }

  // Subtracts the token's first feature from each feature, so that values far from 0 keep their
  // precision.
  static void normalize(const float* x, Size n, float eps, const float* gamma, const float* beta,
                        float* y) {
    const Vec count = L::set(static_cast<float>(n));
    for (Size at = 0; at < lanes; at += step) {
      Vec first[part], mean[part], by[part];
      each<part>([&](auto j) STEN_INLINE { first[j] = L::load(x + at + j * L::lanes); });
      sum(x + at, n, mean, [&](auto j, Vec v) STEN_INLINE { return L::sub(v, first[j]); });
      each<part>([&](auto j) STEN_INLINE { mean[j] = L::div(mean[j], count); });
      sum(x + at, n, by, [&](auto j, Vec v) STEN_INLINE {
        const Vec d = L::sub(L::sub(v, first[j]), mean[j]);
        return L::mul(d, d);
      });
      each<part>([&](auto j) STEN_INLINE {
        by[j] = L::div(L::set(1), L::sqrt(L::add(L::div(by[j], count), L::set(eps))));
      });
      for (Size r = 0; r < n; ++r) {
        const Vec scale = L::one(gamma + r), shift = L::one(beta + r);
        const float* from = x + r * lanes + at;
        float* to = y + r * lanes + at;
        each<part>([&](auto j) STEN_INLINE {
          const Vec d = L::sub(L::sub(L::load(from + j * L::lanes), first[j]), mean[j]);
          L::store(to + j * L::lanes, L::fma(L::mul(d, by[j]), scale, shift));
        });
      }
    }
  }
  // Sums f(j, vector j of a row) over the rows of a part, in two sums that do not wait for each
  // other.
  template <class F>
  STEN_INLINE static void sum(const float* x, Size n, Vec (&to)[part], F&& f) {
    Vec other[part];
    each<part>([&](auto j) STEN_INLINE { to[j] = other[j] = L::zero(); });
    Size r = 0;
    for (; r + 2 <= n; r += 2, x += 2 * lanes)
      each<part>([&](auto j) STEN_INLINE {
        to[j] = L::add(to[j], f(j, L::load(x + j * L::lanes)));
        other[j] = L::add(other[j], f(j, L::load(x + lanes + j * L::lanes)));
      });
    each<part>([&](auto j) STEN_INLINE {
      if (r < n) to[j] = L::add(to[j], f(j, L::load(x + j * L::lanes)));
      to[j] = L::add(to[j], other[j]);
    });
  }

  static constexpr PanelsTable table() { return {attend, normalize, multiply}; }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
