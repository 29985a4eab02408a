// SPDX-License-Identifier: Apache-2.0
// Columns of B and C in vectors of four, as sparse products on a device read and write them.
#pragma once
#include "kernels/block/functions.h"

namespace sten::kernels {

struct alignas(16) Floats4 {
  float v[4];
};

struct GemmColumns {
  ProductOperands of;
  bool aligned_b, aligned_c;  // all rows start at multiples of 16 bytes

  explicit GemmColumns(const ProductOperands& x)
      : of(x), aligned_b(is_aligned(x.b, x.ldb)), aligned_c(is_aligned(x.c, x.ldc)) {}

  // Loads s[i] = B[row, col .. col+3] for row, row + step, ... < end, with stride `stride` in s, by
  // copy_later() if possible; 0 outside of B.
  template <class Block, class Shared>
  STEN_DEVICE void load_rows(Block& b, int row, int step, int end, std::int64_t col, Shared& s,
                             int i, int stride) const {
    const float* from = of.b + row * of.ldb + col;
    const std::int64_t apart = step * of.ldb;
    if (aligned_b && end <= of.cols && col + 4 <= of.n) {
      STEN_UNROLL(4)
      for (; row < end; row += step, i += stride, from += apart)
        b.copy_later(s, i, reinterpret_cast<const Floats4*>(from));
      return;
    }
    STEN_UNROLL(1)
    for (; row < end; row += step, i += stride, from += apart) {
      Floats4 x{};
      for (int j = 0; j < 4; ++j)
        if (row < of.cols && col + j < of.n) x.v[j] = from[j];
      s[i] = x;
    }
  }
  STEN_DEVICE void store(std::int64_t row, std::int64_t col, const Floats4& x) const {
    float* to = of.c + row * of.ldc + col;
    if (aligned_c && col + 4 <= of.n) {
      *reinterpret_cast<Floats4*>(to) = x;
      return;
    }
    for (int j = 0; j < 4; ++j)
      if (col + j < of.n) to[j] = x.v[j];
  }

 private:
  static bool is_aligned(const float* p, std::int64_t stride) {
    return reinterpret_cast<std::uintptr_t>(p) % 16 == 0 && stride % 4 == 0;
  }
};

}  // namespace sten::kernels
