// SPDX-License-Identifier: Apache-2.0
// Row tiles: rows of a matrix view, some columns at a time, as contiguous values. Rows with
// contiguous columns are used in place; otherwise up to 64 rows at once are copied through a
// buffer.
#pragma once
#include <algorithm>

#include "libsten/core/tensor/mask.h"
#include "libsten/core/tensor/matrix_view.h"
#include "libsten/core/tensor/transpose.h"

namespace sten {

class RowTiles {
  static constexpr Index max_rows = 64, most_gathered = 256;

 public:
  // Tiles start at columns that are multiples of `block` <= 256.
  RowTiles(const MatrixView& view, Index block) : view_(view), in_place_(view.col_stride == 1) {
    most_cols_ = (in_place_ ? most_words * 64 : most_gathered) / block * block;
  }

  // Rows `line` to line + lines, columns `col` to col + cols.
  struct Tile {
    Index line, lines, col, cols;
    Index offset;  // dense offset of the first element
  };
  // Bits of a tile: row l starts at word l * words_per_row(); spare bits are 0.
  static constexpr Index most_words = 256;
  using Words = std::uint64_t[most_words];
  Index words_per_row() const { return in_place_ ? most_words : most_words / max_rows; }

  // Units consist of whole rows and can be processed in parallel.
  Index units() const {
    if (view_.cols == 0) return 0;  // an empty matrix may have any number of rows
    return in_place_ ? view_.batches * view_.rows : view_.batches * ceil_div(view_.rows, max_rows);
  }
  Index grain() const {
    const Index lines = in_place_ ? 1 : max_rows;
    return std::max<Index>(1, mask_grain / lines / std::max<Index>(1, view_.cols));
  }
  // Calls f(tile) for the tiles of a unit, in order.
  template <class F>
  void each(Index unit, F&& f) const {
    Tile p{unit, 1, 0, 0, 0};
    if (!in_place_) {
      const Index groups = ceil_div(view_.rows, max_rows), r = unit % groups * max_rows;
      p.line = unit / groups * view_.rows + r;
      p.lines = std::min(max_rows, view_.rows - r);
    }
    const Index start = view_.row_offset(p.line);
    for (; p.col < view_.cols; p.col += most_cols_) {
      p.cols = std::min(most_cols_, view_.cols - p.col);
      p.offset = start + p.col * view_.col_stride;
      f(std::as_const(p));
    }
  }

  // The values of a tile: row l starts at values + l * stride.
  template <class U>
  class Buffer {
   public:
    const U* values = nullptr;
    Index stride = most_gathered + 64 / static_cast<Index>(sizeof(U));  // avoids cache conflicts

    void read(const RowTiles& pieces, const Tile& p, const U* x) {
      values = x + p.offset;
      if (pieces.in_place_) return;
      const Index down = pieces.view_.col_stride, along = pieces.view_.row_stride;
      values = room_;
      if (along == 1) return transpose(x + p.offset, down, p.cols, p.lines, room_, stride);
      for (Index c = 0; c < p.cols; ++c)
        for (Index l = 0; l < p.lines; ++l)
          room_[l * stride + c] = x[p.offset + c * down + l * along];
    }

    // Where to write the values of a tile, with the same stride.
    U* begin(const RowTiles& pieces, const Tile& p, U* x) {
      return pieces.in_place_ ? x + p.offset : room_;
    }
    // Stores the written values in x.
    void end(const RowTiles& pieces, const Tile& p, U* x) {
      if (pieces.in_place_) return;
      const Index down = pieces.view_.col_stride, along = pieces.view_.row_stride;
      if (along == 1) return transpose(room_, stride, p.lines, p.cols, x + p.offset, down);
      for (Index c = 0; c < p.cols; ++c)
        for (Index l = 0; l < p.lines; ++l)
          x[p.offset + c * down + l * along] = room_[l * stride + c];
    }

   private:
    U room_[max_rows * (most_gathered + 64 / sizeof(U))];
  };

  // Sets the bits of a tile in a mask; other threads may set bits of other units.
  void set_bits(const Tile& p, const Words& words, std::uint8_t* bits) const;
  void get_bits(const Tile& p, const std::uint8_t* bits, Words& words) const;

 private:
  MatrixView view_;
  bool in_place_;
  Index most_cols_;
};

}  // namespace sten
