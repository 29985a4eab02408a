// SPDX-License-Identifier: Apache-2.0
// C = A B with A in n:m:g of any format, parts as stored.
//
// A block has up to 64 rows of a row block x 128 columns of C, a thread one column, with sums in
// shared memory. Rows of B are read from device memory, a few at a time.
#pragma once
#include <cmath>

#include "kernels/block/functions.h"

namespace sten::kernels {

struct NmgAnyGemmKernel {
  static constexpr int threads = 128, most_rows = 64, at_once = 8;
  NmgFormat format;
  const float* values;
  const void* index;
  ProductOperands x;
  std::int64_t strips, chunks, parts,
      tiles;  // strips per chunk; chunks per row; parts of a row block; tiles of columns

  NmgAnyGemmKernel(const NmgFormat& f, const float* v, const void* i, const ProductOperands& of)
      : format(f),
        values(v),
        index(i),
        x(of),
        strips(f.strips()),
        chunks((x.cols + strips - 1) / strips),
        parts((f.m + most_rows - 1) / most_rows),
        tiles((x.n + threads - 1) / threads) {}

  std::int64_t blocks() const { return (x.rows + format.m - 1) / format.m * parts * tiles; }
  std::size_t shared_bytes() const {
    CountingBlock b;
    b.shared<float>(most_rows * threads);
    return b.used();
  }

  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    auto sums = b.template shared<float>(most_rows * threads);
    const std::int64_t row_block = block / (parts * tiles);
    const std::int64_t in_row_block = block - row_block * (parts * tiles);
    const std::int64_t part = in_row_block / tiles, tile = in_row_block - part * tiles;
    const std::int64_t row0 = part * most_rows;
    b.for_each_thread([&](int t) {
      const std::int64_t col = tile * threads + t;
      if (col >= x.n) return;
      for (int r = 0; r < most_rows; ++r) sums[r * threads + t] = 0.0f;
      for (std::int64_t c = 0; c < chunks; ++c) {
        const std::int64_t strip0 = (row_block * chunks + c) * strips;
        std::int64_t pattern = 0, in_group = 0;
        for (std::int64_t s = 0; s < strips; s += at_once) {
          const auto count = static_cast<int>(strips - s < at_once ? strips - s : at_once);
          float of_b[at_once];
          for (int i = 0; i < at_once; ++i)
            of_b[i] = i < count ? b_at(c * strips + column_of(strip0 + s + i), col) : 0.0f;
          for (int i = 0; i < at_once; ++i) {
            if (i >= count) break;
            add(sums, t, pattern, row0, strip0 + s + i, of_b[i]);
            if (++in_group == format.g) in_group = 0, ++pattern;
          }
        }
      }
      for (std::int64_t r = row0; r < row0 + most_rows && r < format.m; ++r)
        if (row_block * format.m + r < x.rows)
          x.c[(row_block * format.m + r) * x.ldc + col] = sums[(r - row0) * threads + t];
    });
  }

 private:
  STEN_DEVICE std::int64_t column_of(std::int64_t strip) const {
    return strips <= 256 ? static_cast<const std::uint8_t*>(index)[strip]
                         : static_cast<const std::uint16_t*>(index)[strip];
  }
  STEN_DEVICE float b_at(std::int64_t row, std::int64_t col) const {
    return row < x.cols ? x.b[row * x.ldb + col] : 0.0f;
  }
  template <class Shared>
  STEN_DEVICE void add(Shared& sums, int t, std::int64_t p, std::int64_t row0, std::int64_t strip,
                       float of_b) const {
    for (std::int64_t i = 0; i < format.n; ++i) {
      const std::int64_t r = format.patterns[p * format.n + i] - row0;
      if (r < 0 || r >= most_rows) continue;
      const std::int64_t at = r * threads + t;
      sums[at] = fmaf(values[strip * format.n + i], of_b, sums[at]);
    }
  }
};

}  // namespace sten::kernels
