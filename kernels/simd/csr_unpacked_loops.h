// SPDX-License-Identifier: Apache-2.0
// Products of unpacked csr in vectors. Lanes are those of csr_loops.h with load_first(p, n) and
// store_first(p, v, n) for the first n lanes; the other lanes are 0.
//
// The sums of up to `most` vectors of a row of C stay in registers for all entries of the row.
#pragma once
#include "kernels/csr.h"
#include "kernels/simd/each.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

template <class L, int most>
class UnpackedCsrLoops {
  using Vec = typename L::Vec;
  using Int = std::int64_t;

  // Whole vectors, or the first lanes of one vector.
  template <int vectors>
  struct Whole {
    static constexpr int count = vectors;
    STEN_INLINE Vec load(const float* p, std::size_t j) const {
      return L::load(p + static_cast<Int>(j) * L::lanes);
    }
    STEN_INLINE void store(float* p, Vec v, std::size_t j) const {
      L::store(p + static_cast<Int>(j) * L::lanes, v);
    }
  };
  struct Part {
    static constexpr int count = 1;
    Int lanes;
    STEN_INLINE Vec load(const float* p, std::size_t) const { return L::load_first(p, lanes); }
    STEN_INLINE void store(float* p, Vec v, std::size_t) const { L::store_first(p, v, lanes); }
  };

  // Calls f(first column, Whole or Part) for segments of `width` columns.
  template <int vectors, class F>
  STEN_INLINE static void each_segment(Int width, Int& at, F&& f) {
    for (; at + vectors * L::lanes <= width; at += vectors * L::lanes) f(at, Whole<vectors>{});
    if constexpr (vectors > 1) each_segment<vectors / 2>(width, at, f);
  }
  template <class F>
  STEN_INLINE static void each_segment(Int width, F&& f) {
    Int at = 0;
    each_segment<most>(width, at, f);
    if (at < width) f(at, Part{width - at});
  }

  template <class P>
  static void multiply_columns(const P& piece, const UnpackedCsr& a, const float* b, Int b_stride,
                               const float* start, float* c, Int c_stride) {
    constexpr int n = P::count;
    for (Int r = 0; r < a.count; ++r) {
      float* to = c + r * c_stride;
      const float* from = start ? start : to;
      Vec sums[n];
      each<n>([&](auto j) STEN_INLINE { sums[j] = piece.load(from, j); });
      const Int last = a.last[r];
      for (Int e = a.first[r]; e < last; ++e) {
        const float* row = b + a.index[e] * b_stride;
        const Vec value = L::one(a.values + e);
        each<n>([&](auto j) STEN_INLINE { sums[j] = L::fma(value, piece.load(row, j), sums[j]); });
      }
      each<n>([&](auto j) STEN_INLINE { piece.store(to, sums[j], j); });
    }
  }

  template <class P>
  static void sample_columns(const P& piece, const UnpackedCsr& a, const float* b, Int b_stride,
                             const float* c, Int c_stride, float* sums) {
    constexpr int n = P::count;
    for (Int r = 0; r < a.count; ++r) {
      Vec row[n];
      each<n>([&](auto j) STEN_INLINE { row[j] = piece.load(c + r * c_stride, j); });
      const auto dot = [&](Int e) STEN_INLINE {
        const float* with = b + a.index[e] * b_stride;
        Vec sum = L::mul(row[0], piece.load(with, 0));
        each<n - 1>([&](auto j)
                        STEN_INLINE { sum = L::fma(row[j + 1], piece.load(with, j + 1), sum); });
        return sum;
      };
      Int e = a.first[r];
      const Int last = a.last[r];
      Vec four[4];
      for (; e + 4 <= last; e += 4) {
        each<4>([&](auto i) STEN_INLINE { four[i] = dot(e + Int{i}); });
        L::add_sums(sums + e, four);
      }
      if (e == last) continue;
      float four_sums[4] = {};
      each<4>([&](auto i) STEN_INLINE { four[i] = dot(e + Int{i} < last ? e + Int{i} : e); });
      L::add_sums(four_sums, four);
      for (Int i = 0; e + i < last; ++i) sums[e + i] += four_sums[i];
    }
  }

 public:
  static void multiply(const UnpackedCsr& a, Int width, const float* b, Int b_stride,
                       const float* start, float* c, Int c_stride) {
    each_segment(width, [&](Int at, auto piece) {
      multiply_columns(piece, a, b + at, b_stride, start ? start + at : nullptr, c + at, c_stride);
    });
  }
  static void sample(const UnpackedCsr& a, Int width, const float* b, Int b_stride, const float* c,
                     Int c_stride, float* sums) {
    each_segment(width, [&](Int at, auto piece) {
      sample_columns(piece, a, b + at, b_stride, c + at, c_stride, sums);
    });
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
