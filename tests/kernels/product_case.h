// SPDX-License-Identifier: Apache-2.0
// Products A B with A in n:m:g, with all strides, and their expected results.
#pragma once
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/block/functions.h"
#include "libsten/core/layout/nmg_patterns.h"
#include "libsten/core/layout/nmg_slots.h"
#include "libsten/core/sparsify/nmg_fit.h"
#include "tests/support/tensors.h"

namespace sten::testing {

struct ProductFormat {
  Index n, m, g;
};

// From 1:10:26 on, the formats use the kernel for any format.
inline const std::vector<ProductFormat>& product_formats() {
  static const std::vector<ProductFormat> all{
      {1, 1, 3},  {1, 2, 5},  {1, 3, 2},  {1, 4, 32}, {1, 5, 3},   {1, 7, 4},
      {1, 8, 16}, {1, 9, 1},  {1, 10, 1}, {1, 10, 4}, {1, 10, 13}, {1, 11, 3},
      {1, 12, 1}, {1, 15, 2}, {1, 16, 8}, {1, 20, 2}, {1, 20, 7},  {2, 4, 1},
      {2, 4, 16}, {2, 4, 25}, {2, 8, 1},  {2, 8, 4},  {1, 10, 26}, {1, 20, 12},
      {1, 21, 1}, {1, 70, 1}, {2, 5, 3},  {3, 6, 2},  {4, 4, 3}};
  return all;
}

struct ProductCase {
  ProductFormat f;
  Index rows, cols, n, ldb, ldc, skew;  // the first elements of b and c are not 16-byte aligned
  Nmg a;
  std::vector<float> b;

  ProductCase(Dice& dice, ProductFormat format, Index r, Index c, Index columns)
      : f(format),
        rows(r),
        cols(c),
        n(columns),
        ldb(n + (dice.below(2) ? 0 : dice.below(9))),
        ldc(n + (dice.below(2) ? 0 : dice.below(9))),
        skew(dice.below(2) ? 0 : dice.below(4)),
        a(NmgFit{f.n, f.m, f.g, 0, {}, FitMethod::greedy}.fit(normals(dice, {rows, cols}))),
        b(skew + cols * ldb) {
    for (float& v : b) v = static_cast<float>(dice.normal());
  }
  kernels::ProductOperands operands(float* c) const {
    return {rows, cols, n, b.data() + skew, ldb, c, ldc};
  }
  kernels::NmgFormat format() const { return PatternTable::get(f.n, f.m)->format(f.g); }
  std::string text() const {
    return fmt::format("{}:{}:{} {} x {} x {}, strides {} and {}, skew {}", f.n, f.m, f.g, rows,
                       cols, n, ldb, ldc, skew);
  }
};

inline constexpr float untouched = -12345.0f;

// The sums in the order that functions.h states.
inline std::vector<float> in_order(const ProductCase& x) {
  const NmgGeometry geo = x.a.geometry();
  const auto table = PatternTable::get(x.f.n, x.f.m);
  std::vector<float> c(x.skew + x.rows * x.ldc, untouched);
  for (Index r = 0; r < x.rows; ++r) std::fill_n(&c[x.skew + r * x.ldc], x.n, 0.0f);
  Index strip = 0;
  for (Index row_block = 0; row_block < geo.row_blocks; ++row_block)
    for (Index chunk = 0; chunk < geo.chunks; ++chunk)
      for (Index p = 0; p < geo.patterns; ++p)
        for (Index j = 0; j < geo.g; ++j, ++strip)
          for (Index i = 0; i < geo.n; ++i) {
            const Index row = row_block * geo.m + (*table)[p][i];
            const Index col = chunk * geo.strips + strip_at(x.a.index, strip);
            if (row >= x.rows || col >= x.cols) continue;
            const float v = x.a.values.as<float>()[strip * geo.n + i];
            for (Index k = 0; k < x.n; ++k) {
              float& sum = c[x.skew + row * x.ldc + k];
              sum = std::fmaf(v, x.b[x.skew + col * x.ldb + k], sum);
            }
          }
  return c;
}

inline bool is_same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// Compares with sums in double.
inline bool is_near(const std::vector<float>& c, const ProductCase& x) {
  const std::vector<float> a = floats(x.a.to_dense());
  for (Index r = 0; r < x.rows; ++r)
    for (Index j = 0; j < x.n; ++j) {
      double sum = 0, size = 0;
      for (Index k = 0; k < x.cols; ++k) {
        const double term = static_cast<double>(a[r * x.cols + k]) * x.b[x.skew + k * x.ldb + j];
        sum += term, size += std::abs(term);
      }
      const double bound = std::ldexp(static_cast<double>(x.cols) + 8, -23) * size;
      if (!(std::abs(c[x.skew + r * x.ldc + j] - sum) <= bound)) return false;
    }
  return true;
}

inline const std::vector<Index>& widths() {
  static const std::vector<Index> all{1, 3, 4, 31, 32, 33, 60, 127, 128, 129, 130};
  return all;
}

inline ProductCase any_case(Dice& dice, ProductFormat f, Index most_rows, Index most_cols) {
  const Index rows = 1 + dice.below(most_rows), cols = 1 + dice.below(most_cols);
  return ProductCase(dice, f, rows, cols, dice.one_of(widths()));
}

}  // namespace sten::testing
