// SPDX-License-Identifier: Apache-2.0
// n:m selection (kernels/nm_select.h) on a device, as a bit array.
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/elementwise/float_keys.h"
#include "kernels/block/elementwise/groups.h"

namespace sten::kernels {

// The rows of matrices in runs of `at_once` blocks of m.
struct NmUnits {
  // One run, whose elements are col_stride apart.
  struct Unit {
    std::int64_t line, block;   // the first block
    std::int64_t cols, offset;  // cols: of this run; offset: of its first element
  };
  std::int64_t m, at_once, per_line;  // blocks
  std::int64_t runs, rows, cols, batches;

  static NmUnits of(const BlockMatrix& matrix, std::int64_t m, std::int64_t at_once) {
    const std::int64_t blocks = (matrix.cols + m - 1) / m;
    return {m,           at_once,     blocks,        (blocks + at_once - 1) / at_once,
            matrix.rows, matrix.cols, matrix.batches};
  }
  STEN_HOST_DEVICE std::int64_t count() const { return batches * rows * runs; }
  // Consecutive units are neighbours in memory: along a row, or in the next one.
  STEN_DEVICE Unit at(const BlockMatrix& matrix, std::int64_t u) const {
    std::int64_t row, run, batch;
    if (matrix.col_stride == 1) {
      run = u % runs;
      row = u / runs % rows;
      batch = u / runs / rows;
    } else {
      row = u % rows;
      run = u / rows % runs;
      batch = u / rows / runs;
    }
    const std::int64_t col = run * at_once * m, left = cols - col;
    return {batch * rows + row, run * at_once, left < at_once * m ? left : at_once * m,
            matrix.batch_offset(batch) + row * matrix.row_stride + col * matrix.col_stride};
  }
};

// most: maximum m, so that the keys of a small block are in registers. Runs have at most 64
// elements.
template <class U, int most>
struct SelectNm {
  NmUnits units;
  BlockMatrix matrix;
  std::int64_t n;
  const U* x;
  U infinity;
  std::uint8_t* bits;

  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t u) const {
    const NmUnits::Unit unit = units.at(matrix, u);
    std::uint64_t kept = 0;
    for (std::int64_t c = 0; c < unit.cols; c += units.m) {
      const std::int64_t left = unit.cols - c;
      kept |= select(unit.offset + c * matrix.col_stride,
                     static_cast<int>(left < units.m ? left : units.m))
              << c;
    }
    if (matrix.col_stride == 1)
      set_run(b, unit.offset, kept);
    else
      for (int c = 0; c < unit.cols; ++c)
        if (kept >> c & 1) set(b, unit.offset + c * matrix.col_stride);
  }

 private:
  // Bit i says whether element i of a block is kept.
  STEN_DEVICE std::uint64_t select(std::int64_t offset, int size) const {
    U keys[most] = {};
    const int end = most > 8 ? size : most;
    for (int i = 0; i < end; ++i)
      if (i < size) {
        const U key = magnitude_key(x[offset + i * matrix.col_stride]);
        keys[i] = key < infinity ? key : infinity;
      }
    std::uint64_t kept = 0;
    for (int i = 0; i < end; ++i) {
      int ahead = 0;  // elements that rank higher
      for (int j = 0; j < end; ++j)
        if (j < size && j != i) ahead += j < i ? keys[j] >= keys[i] : keys[j] > keys[i];
      if (i < size && ahead < n) kept |= std::uint64_t{1} << i;
    }
    return kept;
  }

  // Atomic, because other threads set bits in the same words.
  template <class Block>
  STEN_DEVICE void set(Block& b, std::int64_t i) const {
    b.or_bits(bits, i / 32, std::uint32_t{1} << i % 32);
  }
  template <class Block>
  STEN_DEVICE void set_run(Block& b, std::int64_t first, std::uint64_t kept) const {
    const int shift = static_cast<int>(first % 32);
    const std::uint64_t low = (kept << shift) & 0xffffffffu, rest = kept >> (32 - shift);
    if (low) b.or_bits(bits, first / 32, static_cast<std::uint32_t>(low));
    if (const auto v = static_cast<std::uint32_t>(rest)) b.or_bits(bits, first / 32 + 1, v);
    if (const auto v = static_cast<std::uint32_t>(rest >> 32)) b.or_bits(bits, first / 32 + 2, v);
  }
};

template <class Grid, class U>
void nm_select(Grid&& grid, const BlockMatrix& matrix, std::int64_t n, std::int64_t m, const U* x,
               U infinity, std::uint8_t* bits) {
  // As many blocks along a row as fill a word of bits, so that few words are shared between
  // threads.
  const std::int64_t at_once = matrix.col_stride == 1 && m <= 32 ? 32 / m : 1;
  const NmUnits units = NmUnits::of(matrix, m, at_once);
  const std::int64_t count = units.count();
  if (m <= 4)
    launch_threads(grid, count, SelectNm<U, 4>{units, matrix, n, x, infinity, bits});
  else if (m <= 8)
    launch_threads(grid, count, SelectNm<U, 8>{units, matrix, n, x, infinity, bits});
  else
    launch_threads(grid, count, SelectNm<U, 64>{units, matrix, n, x, infinity, bits});
}

}  // namespace sten::kernels
