// SPDX-License-Identifier: Apache-2.0
// Builds the SlabLists of a matrix (gemm_functions.h). Each position of the matrix is looked up
// twice: lists are built once per sparsity pattern and cached with it.
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/elementwise/segments.h"
#include "kernels/block/gemm_functions.h"

namespace sten::kernels {

// The slot of an element of csr; -1 if it is not stored.
struct CsrFinder {
  CsrPositions of;

  STEN_DEVICE std::int64_t operator()(std::int64_t row, std::int64_t col) const {
    const std::int64_t end = of.row_ptr[row + 1];
    std::int64_t low = of.row_ptr[row], high = end;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (of.columns[middle] < col)
        low = middle + 1;
      else
        high = middle;
    }
    return low < end && of.columns[low] == col ? low : -1;
  }
};

// strip_of[unit, column in the chunk]: the strip of this column.
struct WriteNmgStrip {
  NmgPositions of;
  std::int64_t strips;  // per chunk
  std::int32_t* strip_of;
  STEN_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t unit = i / strips;
    const std::int64_t col = strips <= 256 ? static_cast<const std::uint8_t*>(of.index)[i]
                                           : static_cast<const std::uint16_t*>(of.index)[i];
    strip_of[unit * strips + col] = static_cast<std::int32_t>(i - unit * strips);
  }
};
// The slot of an element of n:m:g; -1 if it is not stored.
struct NmgFinder {
  NmgPositions of;
  std::int64_t strips, chunks;
  const std::int32_t* strip_of;

  STEN_DEVICE std::int64_t operator()(std::int64_t row, std::int64_t col) const {
    const NmgFormat& f = of.format;
    const std::int64_t row_block = row / f.m, chunk = col / strips;
    const std::int64_t first = (row_block * chunks + chunk) * strips;
    const std::int64_t strip = strip_of[first + col - chunk * strips], p = strip / f.g;
    for (std::int64_t i = 0; i < f.n; ++i)
      if (f.patterns[p * f.n + i] == row - row_block * f.m) return (first + strip) * f.n + i;
    return -1;
  }
};

// A thread handles one list in one slab: it counts the entries, or writes them from their start on.
template <class Find>
struct MakeSlabList {
  Find find;
  bool by_column;
  std::int64_t lists, width;
  SlabListsRoom room;
  bool is_counted;

  std::int64_t all() const { return (width + SlabLists::slab - 1) / SlabLists::slab * lists; }
  STEN_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t slab = i / lists, list = i - slab * lists, first = slab * SlabLists::slab;
    std::int64_t count = 0, to = is_counted ? room.starts[i] : 0;
    for (std::int64_t j = 0; j < SlabLists::slab && first + j < width; ++j) {
      const std::int64_t slot = by_column ? find(first + j, list) : find(list, first + j);
      if (slot < 0) continue;
      ++count;
      if (!is_counted) continue;
      room.at[to] = static_cast<std::uint8_t>(j);
      room.slots[to++] = static_cast<std::int32_t>(slot);
    }
    if (!is_counted) room.starts[i] = count;
  }
};

template <class Grid, class Find>
void make_slab_lists(Grid& grid, const Find& find, bool by_column, const SlabListsRoom& room) {
  const std::int64_t rows = find.of.rows, cols = find.of.cols;
  MakeSlabList<Find> make{find, by_column, by_column ? cols : rows, by_column ? rows : cols,
                          room, false};
  const std::int64_t all = make.all();
  launch_threads(grid, all, make);
  grid.launch(ScanSegments{all, room.starts});
  make.is_counted = true;
  launch_threads(grid, all, make);
}

template <class Grid>
void make_csr_lists(Grid& grid, const CsrPositions& of, bool by_column, const SlabListsRoom& room) {
  make_slab_lists(grid, CsrFinder{of}, by_column, room);
}
template <class Grid>
void make_nmg_lists(Grid& grid, const NmgPositions& of, bool by_column, const SlabListsRoom& room) {
  const std::int64_t strips = of.format.strips(), chunks = (of.cols + strips - 1) / strips;
  const std::int64_t all = (of.rows + of.format.m - 1) / of.format.m * chunks * strips;
  auto* strip_of = grid.template scratch<std::int32_t>(all);
  launch_threads<256>(grid, all, WriteNmgStrip{of, strips, strip_of});
  make_slab_lists(grid, NmgFinder{of, strips, chunks, strip_of}, by_column, room);
}

}  // namespace sten::kernels
