// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/block_magnitude.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libsten/core/sparsify/magnitude.h"
#include "libsten/core/sparsify/streaming.h"

namespace sten {
namespace {

// NaN ranks as infinity, so that it is kept and noticed.
double rank_of(double sum) {
  return std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
}

struct Grid {
  MatrixView view;
  Index h, w;                      // of a block, limited to the matrix
  Index row_blocks = 0, cols = 0;  // blocks per column and per row of a matrix
  Index blocks = 0;                // in all matrices

  Grid(const Shape& shape, const BlockMagnitude& b)
      : view(sparsify_detail::rows_of(shape, 1, b.dims)),
        h(std::min(b.h, std::max<Index>(1, view.rows))),
        w(std::min(b.w, std::max<Index>(1, view.cols))) {
    // An empty matrix may have any number of rows.
    if (size_of(shape) == 0) return;
    row_blocks = ceil_div(view.rows, h);
    cols = ceil_div(view.cols, w);
    blocks = view.batches * row_blocks * cols;
  }

  // Calls f(row of blocks, offset of the row's column 0) for all rows of the matrices, from the
  // top; a thread has whole rows of blocks.
  template <class F>
  void for_each_row(F&& f) const {
    if (blocks == 0) return;
    const Index grain = std::max<Index>(1, mask_grain / (h * view.cols + 1));
    parallel_for(view.batches * row_blocks, grain, [&](Index begin, Index end) {
      for (Index b = begin; b < end; ++b) {
        const Index first = b % row_blocks * h;
        const Index offset = view.batch_offset(b / row_blocks);
        for (Index r = first; r < std::min(first + h, view.rows); ++r)
          f(b, offset + r * view.row_stride);
      }
    });
  }
};

}  // namespace

Dense BlockMagnitude::sums(const Dense& x) const {
  sparsify_detail::check_prunable(x.dtype());
  const Grid grid(x.extents, *this);
  Dense out = Dense::zeros(DType::F64, {grid.blocks});
  const auto sum = out.values.mutate<double>();
  with_float(x.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    grid.for_each_row([&](Index b, Index start) {
      for (Index k = 0; k < grid.cols; ++k) {
        double s = sum[b * grid.cols + k];
        for (Index c = k * grid.w; c < std::min((k + 1) * grid.w, grid.view.cols); ++c)
          s += std::abs(static_cast<double>(E::decode(v[start + c * grid.view.col_stride])));
        sum[b * grid.cols + k] = rank_of(s);
      }
    });
  });
  return out;
}

Mask BlockMagnitude::expand(const Shape& shape, const Mask& blocks) const {
  const Grid grid(shape, *this);
  Mask mask = Mask::none(shape);
  std::uint8_t* bits = mask.bits.mutate();
  grid.for_each_row([&](Index b, Index start) {
    for (Index k = 0; k < grid.cols; ++k)
      if (blocks[b * grid.cols + k])
        for (Index c = k * grid.w; c < std::min((k + 1) * grid.w, grid.view.cols); ++c)
          set_bit_shared(bits, start + c * grid.view.col_stride);  // rows share bytes of the mask
  });
  return mask;
}

Mask BlockMagnitude::select(const Dense& x, const Hints&) const {
  return expand(x.extents, Magnitude{sparsity}.select(sums(x), {}));
}

Mask BlockMagnitude::select_stored(const Entries& x, const Hints&) const {
  const Grid grid(x.extents, *this);
  const auto positions = sparsify_detail::entry_positions(x, grid.view);
  // Pairs of a block and an entry, in row-major order of the entries.
  std::vector<std::pair<Index, Index>> order(positions.size());
  std::transform(positions.begin(), positions.end(), order.begin(), [&](const auto& p) {
    const Index batch = p.line / grid.view.rows, row = p.line % grid.view.rows;
    const Index line = batch * grid.row_blocks + row / grid.h;
    return std::pair(line * grid.cols + p.col / grid.w, p.entry);
  });
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Entries blocks{{grid.blocks}, {}, {}};
  std::vector<double> sums;
  with_float(x.values.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    for (const auto& [block, k] : order) {
      if (blocks.at.empty() || blocks.at.back() != block) {
        blocks.at.push_back(block);
        sums.push_back(0);
      }
      sums.back() += std::abs(static_cast<double>(E::decode(v[k])));
    }
  });
  blocks.values = Values::uninitialized(DType::F64, std::ssize(sums));
  std::transform(sums.begin(), sums.end(), blocks.values.mutate<double>().begin(), rank_of);
  const Mask kept = Magnitude{sparsity}.select_stored(blocks, {});
  Mask mask = Mask::none({x.size()});
  std::uint8_t* bits = mask.bits.mutate();
  std::size_t b = 0;
  for (const auto& [block, k] : order) {
    while (blocks.at[b] != block) ++b;
    if (kept[static_cast<Index>(b)]) set_bit(bits, k);
  }
  return mask;
}

BlockMagnitude BlockMagnitude::make(const Spec& spec) {
  spec.check_keys({"sparsity", "h", "w", "dims"});
  BlockMagnitude s{fraction_of(spec, "sparsity"), spec.integer("h"), spec.integer("w"), {}};
  if (s.h < 1 || s.w < 1) fail_usage("{}: expected h >= 1 and w >= 1", spec.str());
  if (spec.has("dims")) s.dims = Dims::parse(spec.word("dims", ""));
  return s;
}

}  // namespace sten
