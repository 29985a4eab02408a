// SPDX-License-Identifier: Apache-2.0
// The chunks of n:m:g in a tensor, for kernels.
#pragma once
#include <cmath>

#include "kernels/block/block.h"
#include "kernels/block/matrix.h"
#include "kernels/floats.h"
#include "kernels/nmg_exact.h"

namespace sten::kernels {

struct NmgBlockUnit {
  std::int64_t rows, cols;  // without padding
  std::int64_t offset;      // of the first element

  STEN_HOST_DEVICE NmgBlockUnit(const NmgFormat& f, const BlockMatrix& matrix, std::int64_t u) {
    const std::int64_t chunks = quotient(matrix.cols + f.strips() - 1, f.strips());
    const std::int64_t row_blocks = quotient(matrix.rows + f.m - 1, f.m);
    const std::int64_t above = quotient(u, chunks), batch = quotient(above, row_blocks);
    const std::int64_t row = (above - batch * row_blocks) * f.m;
    const std::int64_t col = (u - above * chunks) * f.strips();
    rows = matrix.rows - row < f.m ? matrix.rows - row : f.m;
    cols = matrix.cols - col < f.strips() ? matrix.cols - col : f.strips();
    offset = matrix.batch_offset(batch) + row * matrix.row_stride + col * matrix.col_stride;
  }
  STEN_HOST_DEVICE static std::int64_t count(const NmgFormat& f, const BlockMatrix& matrix) {
    return matrix.batches * ((matrix.rows + f.m - 1) / f.m) *
           ((matrix.cols + f.strips() - 1) / f.strips());
  }
  STEN_HOST_DEVICE bool is_whole(const NmgFormat& f) const {
    return rows == f.m && cols == f.strips();
  }

 private:
  // For nonnegative operands. A device divides 32-bit integers in a fifth of the time of 64-bit
  // ones.
  STEN_HOST_DEVICE static std::int64_t quotient(std::int64_t a, std::int64_t b) {
    return (a | b) >> 32 == 0 ? static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b)
                              : a / b;
  }
};

// The elements of a chunk without padding: row r of strip s.
struct NmgBlockChunk {
  const void* x;  // the whole tensor
  FloatKind kind;
  std::int64_t offset, row_stride, col_stride, rows, cols;

  STEN_HOST_DEVICE static NmgBlockChunk of(const void* x, FloatKind kind, const BlockMatrix& matrix,
                                           const NmgBlockUnit& unit) {
    return {x, kind, unit.offset, matrix.row_stride, matrix.col_stride, unit.rows, unit.cols};
  }

  STEN_DEVICE std::int64_t at(std::int64_t r, std::int64_t s) const {
    return offset + r * row_stride + s * col_stride;
  }
  // For all types but f64; can be NaN.
  STEN_DEVICE float magnitude_f32(std::int64_t r, std::int64_t s) const {
    return std::abs(load_float(x, kind, at(r, s)));
  }
  // |x|, with NaN as infinity.
  STEN_DEVICE double magnitude(std::int64_t r, std::int64_t s) const {
    const double v = kind == FloatKind::f64 ? static_cast<const double*>(x)[at(r, s)]
                                            : double{load_float(x, kind, at(r, s))};
    return std::isnan(v) ? static_cast<double>(INFINITY) : std::abs(v);
  }
  // Within a phase: calls f(r, s) for all elements; neighbouring threads get neighbours in memory.
  template <class Block, class F>
  STEN_DEVICE void each(const Block& b, int t, F&& f) const {
    if (col_stride <= row_stride)
      each_pair(b, t, rows, cols, [&](std::int64_t r, std::int64_t s) { f(r, s); });
    else
      each_pair(b, t, cols, rows, [&](std::int64_t s, std::int64_t r) { f(r, s); });
  }
};

}  // namespace sten::kernels
