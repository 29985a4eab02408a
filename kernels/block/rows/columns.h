// SPDX-License-Identifier: Apache-2.0
// Two sums for each column of a matrix over its rows, in an order that depends only on its shape.
#pragma once
#include "kernels/block/block.h"

namespace sten::kernels {

struct ColumnSums {
  double first = 0, second = 0;
};

// A block has 32 columns of a segment of the rows; each thread sums every 8th row of a column.
// Calls finish(segment * columns + column, sums of terms(row, column)).
template <class Terms, class Finish>
struct TwoColumnSums {
  static constexpr int width = 32, height = 8, threads = width * height;
  std::int64_t rows, columns, piece, pieces;
  Terms terms;
  Finish finish;

  STEN_HOST_DEVICE std::int64_t tiles() const { return (columns + width - 1) / width; }
  std::int64_t blocks() const { return pieces * tiles(); }
  std::size_t shared_bytes() const { return threads * sizeof(ColumnSums); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    auto sums = b.template shared<ColumnSums>(threads);
    const std::int64_t at = block / tiles(), column0 = (block - at * tiles()) * width;
    const std::int64_t begin = at * piece, end = begin + piece < rows ? begin + piece : rows;
    b.for_each_thread([&](int t) {
      const std::int64_t column = column0 + t % width;
      ColumnSums sum;
      if (column < columns) {
        STEN_UNROLL(4)
        for (std::int64_t r = begin + t / width; r < end; r += height) {
          const ColumnSums term = terms(r, column);
          sum.first += term.first;
          sum.second += term.second;
        }
      }
      sums[t] = sum;
    });
    for (int half = height / 2; half > 0; half /= 2)
      b.for_each_thread([&](int t) {
        if (t >= half * width) return;
        const ColumnSums one = sums[t], other = sums[t + half * width];
        sums[t] = ColumnSums{one.first + other.first, one.second + other.second};
      });
    b.for_each_thread([&](int t) {
      if (t < width && column0 + t < columns) finish(at * columns + column0 + t, sums[t]);
    });
  }
};

struct StoreColumnSums {
  ColumnSums* to;
  STEN_DEVICE void operator()(std::int64_t i, const ColumnSums& sum) const { to[i] = sum; }
};
struct StoredColumnSums {
  const ColumnSums* from;
  std::int64_t columns;
  STEN_DEVICE ColumnSums operator()(std::int64_t piece, std::int64_t column) const {
    return from[piece * columns + column];
  }
};

// Stores the sums as floats.
struct StoreColumns {
  float *first, *second;  // nullptr: not computed
  STEN_DEVICE void operator()(std::int64_t column, const ColumnSums& sum) const {
    if (first) first[column] = static_cast<float>(sum.first);
    if (second) second[column] = static_cast<float>(sum.second);
  }
};

// Calls finish(column, sums of terms(row, column) over all rows).
template <class Grid, class Terms, class Finish>
void sum_columns(Grid& grid, std::int64_t rows, std::int64_t columns, const Terms& terms,
                 const Finish& finish) {
  constexpr std::int64_t least = 64, max_segments = 128, max_single_pass_rows = 256;
  const std::int64_t wanted = (rows + max_segments - 1) / max_segments;
  const std::int64_t piece = wanted < least ? least : wanted, pieces = (rows + piece - 1) / piece;
  if (rows <= max_single_pass_rows) {  // a second kernel would take longer
    grid.launch(TwoColumnSums<Terms, Finish>{rows, columns, rows, 1, terms, finish});
    return;
  }
  auto* parts = grid.template scratch<ColumnSums>(pieces * columns);
  grid.launch(TwoColumnSums<Terms, StoreColumnSums>{rows, columns, piece, pieces, terms, {parts}});
  grid.launch(TwoColumnSums<StoredColumnSums, Finish>{
      pieces, columns, pieces, 1, {parts, columns}, finish});
}

}  // namespace sten::kernels
