// C = A B with A in n:m:g as it is stored, of any format.
//
// A block has up to 64 rows of a row block x 128 columns of C, a thread a column of them, its sums
// in shared memory. Rows of B are read where they are, a few at a time.
#pragma once
#include <cmath>

#include "kernels/block/functions.h"

namespace sten::kernels {

struct NmgAnyGemmKernel {
  static constexpr int threads = 128, most_rows = 64, at_once = 4;
  NmgFormat format;
  const float* values;
  const void* index;
  ProductOperands x;

  std::int64_t row_blocks() const { return (x.rows + format.m - 1) / format.m; }
  STEN_HOST_DEVICE std::int64_t parts() const { return (format.m + most_rows - 1) / most_rows; }
  STEN_HOST_DEVICE std::int64_t tiles() const { return (x.n + threads - 1) / threads; }
  std::int64_t blocks() const { return row_blocks() * parts() * tiles(); }
  std::size_t shared_bytes() const {
    CountingBlock b;
    b.shared<float>(most_rows * threads);
    return b.used();
  }

  STEN_DEVICE std::int64_t column_of(std::int64_t strip) const {
    return format.strips() <= 256 ? static_cast<const std::uint8_t*>(index)[strip]
                                  : static_cast<const std::uint16_t*>(index)[strip];
  }

  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    auto sums = b.template shared<float>(most_rows * threads);
    const std::int64_t tile = block % tiles(), row_block = block / tiles() / parts();
    const std::int64_t row0 = block / tiles() % parts() * most_rows;
    const std::int64_t chunks = (x.cols + format.strips() - 1) / format.strips();
    b.for_each_thread([&](int t) {
      const std::int64_t col = tile * threads + t;
      if (col >= x.n) return;
      for (int r = 0; r < most_rows; ++r) sums[r * threads + t] = 0.0f;
      for (std::int64_t c = 0; c < chunks; ++c) {
        const std::int64_t strip0 = (row_block * chunks + c) * format.strips();
        for (std::int64_t p = 0; p < format.count; ++p)
          for (std::int64_t j = 0; j < format.g; j += at_once) {
            const std::int64_t strip = strip0 + p * format.g + j;
            const auto count = static_cast<int>(format.g - j < at_once ? format.g - j : at_once);
            float row[at_once] = {};
            for (int s = 0; s < at_once; ++s)
              if (s < count) row[s] = b_at(c * format.strips() + column_of(strip + s), col);
            for (int s = 0; s < at_once; ++s)
              if (s < count) add(sums, t, p, row0, strip + s, row[s]);
          }
      }
      for (std::int64_t r = row0; r < row0 + most_rows && r < format.m; ++r)
        if (row_block * format.m + r < x.rows)
          x.c[(row_block * format.m + r) * x.ldc + col] = sums[(r - row0) * threads + t];
    });
  }

 private:
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
