// The bias of linear layers, and its gradient.
#pragma once
#include "kernels/block/gemm_functions.h"

namespace sten::kernels {

// A block has some rows of 128 columns.
struct AddToRowsKernel {
  static constexpr int threads = 128, rows = 8;
  const float* bias;
  std::int64_t all, n;
  float* y;

  STEN_HOST_DEVICE std::int64_t tiles() const { return (n + threads - 1) / threads; }
  std::int64_t blocks() const { return (all + rows - 1) / rows * tiles(); }
  std::size_t shared_bytes() const { return 0; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    const std::int64_t first = block / tiles() * rows, tile = block % tiles();
    b.for_each_thread([&](int t) {
      const std::int64_t col = tile * threads + t;
      if (col >= n) return;
      const float add = bias[col];
      for (std::int64_t r = first; r < first + rows && r < all; ++r) y[r * n + col] += add;
    });
  }
};

// sums[part, n] of parts of 256 rows: a block has 32 columns, and each of its 8 warps every eighth
// row.
struct RowSumsKernel {
  static constexpr int threads = 256, cols = 32, warps = threads / cols, of_part = 256;
  const float* x;
  std::int64_t rows, n;
  double* sums;

  static std::int64_t parts(std::int64_t rows) { return (rows + of_part - 1) / of_part; }
  STEN_HOST_DEVICE std::int64_t tiles() const { return (n + cols - 1) / cols; }
  std::int64_t blocks() const { return parts(rows) * tiles(); }
  std::size_t shared_bytes() const { return threads * sizeof(double); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    auto all = b.template shared<double>(threads);
    const std::int64_t part = block / tiles(), tile = block - part * tiles();
    const std::int64_t end = (part + 1) * of_part < rows ? (part + 1) * of_part : rows;
    b.for_each_thread([&](int t) {
      const std::int64_t col = tile * cols + t % cols;
      double sum = 0;
      if (col < n)
        for (std::int64_t r = part * of_part + t / cols; r < end; r += warps) sum += x[r * n + col];
      all[t] = sum;
    });
    b.for_each_thread([&](int t) {
      if (t >= cols || tile * cols + t >= n) return;
      double sum = 0;
      for (int w = 0; w < warps; ++w) sum += all[w * cols + t];
      sums[part * n + tile * cols + t] = sum;
    });
  }
};
struct RowSumsTotalKernel {
  static constexpr int threads = 128;
  const double* sums;
  std::int64_t parts, n;
  float* all;

  std::int64_t blocks() const { return (n + threads - 1) / threads; }
  std::size_t shared_bytes() const { return 0; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    b.for_each_thread([&](int t) {
      const std::int64_t col = block * threads + t;
      if (col >= n) return;
      double sum = 0;
      for (std::int64_t p = 0; p < parts; ++p) sum += sums[p * n + col];
      all[col] = static_cast<float>(sum);
    });
  }
};

template <class Grid>
void add_to_rows(Grid& grid, const float* bias, std::int64_t rows, std::int64_t n, float* y) {
  if (rows > 0 && n > 0) grid.launch(AddToRowsKernel{bias, rows, n, y});
}
template <class Grid>
void sum_of_rows(Grid& grid, const float* x, std::int64_t rows, std::int64_t n, float* all) {
  if (n == 0) return;
  const std::int64_t parts = RowSumsKernel::parts(rows);
  auto* sums = grid.template scratch<double>(parts * n);
  grid.launch(RowSumsKernel{x, rows, n, sums});
  grid.launch(RowSumsTotalKernel{sums, parts, n, all});
}

}  // namespace sten::kernels
