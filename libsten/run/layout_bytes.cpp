#include "libsten/run/layout_bytes.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "libsten/layout/compressed.h"
#include "libsten/layout/nmg.h"

namespace sten {
namespace {

constexpr Index block = 4;  // bcsr's rows and columns

struct Counts {
  Index nnz = 0, longest = 0;  // entries of the longest row
  Index blocks = 0;            // that keep anything
  bool partly = false;         // some of them have pruned positions inside the tensor
};

Counts count(const std::vector<Index>& kept, const MatrixView& view) {
  Counts c;
  c.nnz = std::ssize(kept);
  std::vector<Index> in_block;  // the block column of each entry of some rows
  for (std::size_t k = 0; k < kept.size();) {
    const Index row0 = kept[k] / view.cols / block * block;
    const Index rows = std::min(block, view.rows - row0);
    in_block.clear();
    for (Index row = -1, entries = 0; k < kept.size() && kept[k] / view.cols < row0 + rows; ++k) {
      entries = kept[k] / view.cols == row ? entries + 1 : 1;
      row = kept[k] / view.cols;
      c.longest = std::max(c.longest, entries);
      in_block.push_back(kept[k] % view.cols / block);
    }
    std::ranges::sort(in_block);
    for (std::size_t b = 0, end = 0; b < in_block.size(); b = end) {
      while (end < in_block.size() && in_block[end] == in_block[b]) ++end;
      ++c.blocks;
      c.partly |=
          static_cast<Index>(end - b) < rows * std::min(block, view.cols - in_block[b] * block);
    }
  }
  return c;
}

Counts count(const Mask& kept, const MatrixView& view) {
  Counts c;
  if (kept.size() == 0) return c;  // beside an extent of 0 the others may be huge
  std::vector<std::uint8_t> in_block(ceil_div(view.cols, block));
  for (Index row0 = 0; row0 < view.rows; row0 += block) {
    const Index rows = std::min(block, view.rows - row0);
    std::ranges::fill(in_block, 0);
    for (Index r = row0; r < row0 + rows; ++r) {
      Index entries = 0;
      const Index begin = r * view.cols;
      for (Index k = 0; k < view.cols; ++k)
        if (kept[begin + k]) {
          ++entries;
          ++in_block[k / block];
        }
      c.nnz += entries;
      c.longest = std::max(c.longest, entries);
    }
    for (Index b = 0; b < std::ssize(in_block); ++b) {
      c.blocks += in_block[b] > 0;
      c.partly |= in_block[b] > 0 && in_block[b] < rows * std::min(block, view.cols - b * block);
    }
  }
  return c;
}

Index nm_bytes(const Pattern& p, const Shape& shape, Index width) {
  const MatrixView view = MatrixView::of(shape, {}, p.axis == 0);
  const Index blocks = ceil_div(view.cols, p.m);
  const Index bits = std::bit_width(static_cast<std::uint64_t>(p.m - 1));
  return view.rows * (blocks * p.n * width + ceil_div(blocks * p.n * bits, 8));
}

Index nmg_bytes(const Pattern& p, const Shape& shape, Index width) {
  const NmgGeometry geo = NmgGeometry::of(shape, p.n, p.m, p.g, p.axis, {});
  return geo.units() * geo.strips * (p.n * width + (geo.strips <= 256 ? 1 : 2));
}

}  // namespace

LayoutBytes layout_bytes(Index width, const Positions& kept, const std::vector<Pattern>& held) {
  const MatrixView view = MatrixView::of(kept.extents);
  const Counts c = kept.is_listed ? count(kept.at, view) : count(kept.mask, view);
  const Index n = kept.size(), entry = 4 + width, bits = ceil_div(n, 8);
  LayoutBytes bytes;
  const auto set = [&](std::string_view layout, Index value) {
    bytes[std::ranges::find(layout_names, layout) - layout_names.begin()] = value;
  };
  set("dense", n * width);
  set("masked", n * width + bits);
  set("bitmask", bits + c.nnz * width);
  constexpr Index most = std::numeric_limits<std::int32_t>::max();
  // Nor do layouts hold lines by the million that have no places.
  const bool has_rows = view.cols > 0 || view.rows <= most_empty_lines;
  const bool has_cols = view.rows > 0 || view.cols <= most_empty_lines;
  if (view.cols <= most && has_rows) set("csr", (view.rows + 1) * 8 + c.nnz * entry);
  if (view.rows <= most && has_cols) set("csc", (view.cols + 1) * 8 + c.nnz * entry);
  if (view.rows <= most && view.cols <= most) set("coo", c.nnz * (4 + entry));
  if (view.cols <= most && has_rows &&
      (c.longest == 0 || view.rows <= (4 * c.nnz + view.rows) / c.longest))
    set("ell", view.rows * c.longest * entry);
  const Index in_blocks = c.blocks * block * block;
  if (ceil_div(view.cols, block) <= most && has_rows)
    set("bcsr", (ceil_div(view.rows, block) + 1) * 8 + c.blocks * 4 + in_blocks * width +
                    (c.partly ? ceil_div(in_blocks, 8) : 0));
  const auto least = [&](std::string_view layout, bool grouped, auto of) {
    std::optional<Index> best;
    for (const Pattern& p : held)
      if ((p.g > 0) == grouped) {
        const Index size = of(p, kept.extents, width);
        best = best ? std::min(*best, size) : size;
      }
    if (best) set(layout, *best);
  };
  least("nm", false, nm_bytes);
  least("nmg", true, nmg_bytes);
  return bytes;
}

}  // namespace sten
