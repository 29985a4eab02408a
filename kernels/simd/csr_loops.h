// SPDX-License-Identifier: Apache-2.0
// Products of runs of strips in vectors.
//
// L has Vec of `lanes` floats; zero(), load(p), store(p, v), add(a, b), mul(a, b); one(p): *p in
// all lanes; fma(a, b, c): a * b + c; four(p): p[0..3] repeated; pick<i>(v): element i of four() in
// all lanes; add_sums(p, v): adds the sums over the lanes of v[0..3] to p[0..3].
// Up to `width(height)` vectors of a row of C are computed at a time, so that the sums of all rows
// of a run, and a row of B, fit in registers.
#pragma once
#include <array>
#include <cstddef>
#include <utility>

#include "kernels/csr.h"
#include "kernels/simd/each.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// panel: one of csr_widths.
template <class L, int panel>
class CsrLoops {
  using Vec = typename L::Vec;
  using Int = std::int64_t;

  template <int height>
  struct Sums {
    static constexpr int width =
        L::width(height) * L::lanes < panel ? L::width(height) : panel / L::lanes;
    Vec of[height][width];

    template <class F>
    STEN_INLINE void set(F&& f) {
      each<height>([&](auto i) STEN_INLINE {
        each<width>([&](auto j) STEN_INLINE { of[i][j] = f(i, j); });
      });
    }
    STEN_INLINE void add(Vec value, const float* b) {
      each<width>([&](auto j) STEN_INLINE {
        of[0][j] = L::fma(value, L::load(b + j * L::lanes), of[0][j]);
      });
    }
    STEN_INLINE void add(const float* values, const float* b) {
      if constexpr (height == 1) return add(L::one(values), b);
      Vec in[width];
      each<width>([&](auto j) STEN_INLINE { in[j] = L::load(b + j * L::lanes); });
      each<height>([&](auto i) STEN_INLINE {
        const Vec value = L::one(values + i);
        each<width>([&](auto j) STEN_INLINE { of[i][j] = L::fma(value, in[j], of[i][j]); });
      });
    }
  };

  template <int height>
  STEN_INLINE static void add(Int strips, const std::uint16_t* columns, const float* values,
                              const float* slab, Sums<height>& sums) {
    const auto row = [&](std::uint64_t r) STEN_INLINE { return slab + r * panel; };
    Int e = 0;
    if constexpr (height == 1) {
      // Loads of values and columns cost as much as loads of B. A sum depends on the previous one,
      // so long runs use several sets of sums; short runs overlap with the next run.
      constexpr std::size_t sets = Sums<1>::width < 4 ? 4 : 2;
      Sums<1> of[sets];
      const auto four = [&](auto count) STEN_INLINE {
        const Vec v = L::four(values + e);
        std::uint64_t rows;
        __builtin_memcpy(&rows, columns + e, sizeof rows);
        each<4>([&](auto i) STEN_INLINE {
          constexpr std::size_t at = decltype(i)::value;
          of[at % count].add(L::template broadcast_lane<at>(v), row(rows >> 16 * at & 0xffff));
        });
        e += 4;
      };
      of[0] = sums;
      if (strips >= 12) {
        each<sets - 1>([&](auto i) STEN_INLINE {
          of[i + 1].set([](auto, auto) STEN_INLINE { return L::zero(); });
        });
        do four(std::integral_constant<std::size_t, sets>{});
        while (e + 4 <= strips);
        each<sets - 1>([&](auto i) STEN_INLINE {
          of[0].set([&](auto, auto j)
                        STEN_INLINE { return L::add(of[0].of[0][j], of[i + 1].of[0][j]); });
        });
      } else {
        while (e + 4 <= strips) four(std::integral_constant<std::size_t, 1>{});
      }
      sums = of[0];
    }
    for (; e < strips; ++e) sums.add(values + e * height, row(columns[e]));
  }

  // Processes and removes the leading runs of this height.
  template <int height>
  static void multiply_height(CsrRuns& all, const float* slab, float* c) {
    constexpr Int width = Sums<height>::width, step = width * L::lanes;
    const CsrRun *run = all.runs, *const end = run + all.count;
    const std::uint16_t* columns = all.columns;
    const float* values = all.values;
    for (; run < end; ++run) {
      const CsrRows& rows = all.rows[run->rows];
      if (rows.height != height) break;
      float* to[height];
      each<height>([&](auto i) STEN_INLINE { to[i] = c + (run->row + rows.rows[i]) * panel; });
      const Int strips = run->strips;
      for (Int at = 0; at < panel; at += step) {
        Sums<height> sums;
        sums.set([&](auto i, auto j) STEN_INLINE { return L::load(to[i] + at + j * L::lanes); });
        add<height>(strips, columns, values, slab + at, sums);
        each<height>([&](auto i) STEN_INLINE {
          each<width>([&](auto j)
                          STEN_INLINE { L::store(to[i] + at + j * L::lanes, sums.of[i][j]); });
        });
      }
      columns += strips;
      values += strips * height;
    }
    all = {all.rows, run, end - run, columns, values};
  }
  using Multiply = void(CsrRuns&, const float*, float*);
  template <std::size_t... i>
  static constexpr std::array<Multiply*, sizeof...(i)> table(std::index_sequence<i...>) {
    return {&multiply_height<static_cast<int>(i) + 1>...};
  }

  // Dot product of one strip, before its lanes are added.
  STEN_INLINE static Vec dot(const Vec* row, const float* b) {
    Vec sum = L::mul(row[0], L::load(b));
    each<panel / L::lanes - 1>([&](auto j) STEN_INLINE {
      sum = L::fma(row[j + 1], L::load(b + (j + 1) * L::lanes), sum);
    });
    return sum;
  }

 public:
  static void multiply(const CsrRuns& all, const float* slab, float* c) {
    static constexpr auto of_height = table(std::make_index_sequence<most_run_height>{});
    for (CsrRuns runs = all; runs.count > 0;)
      of_height[runs.rows[runs.runs->rows].height - 1](runs, slab, c);
  }

  static void sample(const CsrRuns& all, const float* slab, const float* c, float* sums) {
    const std::uint16_t* columns = all.columns;
    const auto at = [&](Int e) STEN_INLINE { return slab + columns[e] * panel; };
    for (Int r = 0; r < all.count; ++r) {
      const CsrRun& run = all.runs[r];
      const float* from = c + (run.row + all.rows[run.rows].rows[0]) * panel;
      Vec row[panel / L::lanes];
      each<panel / L::lanes>([&](auto j) STEN_INLINE { row[j] = L::load(from + j * L::lanes); });
      Int e = 0;
      for (; e + 4 <= run.strips; e += 4) {
        Vec four[4];
        each<4>([&](auto i) STEN_INLINE { four[i] = dot(row, at(e + i)); });
        L::add_sums(sums + e, four);
      }
      if (e < run.strips) {
        float last[4] = {};
        Vec four[4];
        each<4>([&](auto i)
                    STEN_INLINE { four[i] = dot(row, at(e + Int{i} < run.strips ? e + i : e)); });
        L::add_sums(last, four);
        for (Int i = 0; e + i < run.strips; ++i) sums[e + i] += last[i];
      }
      columns += run.strips;
      sums += run.strips;
    }
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
