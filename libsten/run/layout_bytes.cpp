#include "libsten/run/layout_bytes.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "libsten/layout/nmg.h"

namespace sten {
namespace {

constexpr Index block = 4;  // bcsr's rows and columns

struct Counts {
  Index nnz = 0, longest = 0;  // entries of the longest row
  Index blocks = 0;            // that keep anything
  bool partly = false;         // some of them have pruned positions inside the tensor
};

Counts count(const Mask& kept, const MatrixView& view) {
  Counts c;
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

LayoutBytes layout_bytes(const Dense& x, const Mask& kept, const std::vector<Pattern>& held) {
  const MatrixView view = MatrixView::of(x.extents);
  const Counts c = count(kept, view);
  const Index n = x.size(), width = x.values.width(), entry = 4 + width, bits = ceil_div(n, 8);
  LayoutBytes bytes;
  const auto set = [&](std::string_view layout, Index value) {
    bytes[std::ranges::find(layout_names, layout) - layout_names.begin()] = value;
  };
  set("dense", n * width);
  set("masked", n * width + bits);
  set("bitmask", bits + c.nnz * width);
  constexpr Index most = std::numeric_limits<std::int32_t>::max();
  if (view.cols <= most) set("csr", (view.rows + 1) * 8 + c.nnz * entry);
  if (view.rows <= most) set("csc", (view.cols + 1) * 8 + c.nnz * entry);
  if (view.rows <= most && view.cols <= most) set("coo", c.nnz * (4 + entry));
  if (view.cols <= most && view.rows * c.longest <= 4 * c.nnz + view.rows)
    set("ell", view.rows * c.longest * entry);
  const Index in_blocks = c.blocks * block * block;
  set("bcsr", (ceil_div(view.rows, block) + 1) * 8 + c.blocks * 4 + in_blocks * width +
                  (c.partly ? ceil_div(in_blocks, 8) : 0));
  const auto least = [&](std::string_view layout, bool grouped, auto of) {
    std::optional<Index> best;
    for (const Pattern& p : held)
      if ((p.g > 0) == grouped) {
        const Index size = of(p, x.extents, width);
        best = best ? std::min(*best, size) : size;
      }
    if (best) set(layout, *best);
  };
  least("nm", false, nm_bytes);
  least("nmg", true, nmg_bytes);
  return bytes;
}

}  // namespace sten
