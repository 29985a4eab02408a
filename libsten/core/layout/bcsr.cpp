// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/bcsr.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/tensor/occupancy.h"

namespace sten {
namespace {

// Limits the zeros that are stored for a single kept element.
constexpr Index max_block = Index{1} << 16;
void check_block(Index h, Index w) {
  if (h < 1 || w < 1) fail_usage("h={},w={}: expected h >= 1 and w >= 1", h, w);
  if (h > max_block / w)
    fail_usage("h={},w={}: a block must have at most {} elements", h, w, max_block);
}

// The matrices as blocks. A "line" is a block row of a batch.
struct Grid {
  MatrixView view;
  Index h, w, rows, cols;  // rows and columns of blocks

  Grid(const Shape& shape, Dims dims, Index block_h, Index block_w)
      : view(MatrixView::of(shape, dims)), h(block_h), w(block_w) {
    rows = ceil_div(view.rows, h);
    cols = ceil_div(view.cols, w);
    if (cols > std::numeric_limits<std::int32_t>::max())
      fail("bcsr: {} block columns do not fit 32-bit column indices", cols);
  }
  explicit Grid(const Bcsr& x) : Grid(x.extents, x.dims, x.h, x.w) {}

  Index lines() const { return view.batches * rows; }
  // Number of rows of line l and columns of block column c inside the tensor.
  Index height(Index l) const { return std::min(h, view.rows - l % rows * h); }
  Index width(Index c) const { return std::min(w, view.cols - c * w); }
  // Row r of line l as a row of all batches.
  Index row(Index l, Index r) const { return l / rows * view.rows + l % rows * h + r; }

  template <class F>
  void for_each_row(F&& f) const {
    const Index grain = std::max<Index>(1, mask_grain / (h * view.cols + 1));
    parallel_for(lines(), grain, [&](Index begin, Index end) {
      for (Index l = begin; l < end; ++l) f(l);
    });
  }
  // Calls f(block, r, first value, its dense offset, values inside the tensor) for the h runs of w
  // values of every block. A run below the tensor has no values inside.
  template <class F>
  void for_each_run(const Bcsr& x, F&& f) const {
    for_each_row([&](Index l) {
      for (Index b = x.ptr[l]; b < x.ptr[l + 1]; ++b)
        for (Index r = 0; r < h; ++r) {
          const bool inside = r < height(l);
          const Index start = inside ? view.row_offset(row(l, r)) : 0;
          f(b, r, (b * h + r) * w, start + x.col[b] * w * view.col_stride,
            inside ? width(x.col[b]) : 0);
        }
    });
  }
};

// Completes `out`, which has all fields except the parts. each(l, f) calls f(r, column, i) for the
// kept elements of line l, by ascending r, then column; their values are from[i].
template <class Each>
Bcsr build(Bcsr out, const Grid& grid, const Values& from, Each&& each) {
  const Index lines = grid.lines(), h = grid.h, w = grid.w;
  // Rows of length 0 take no memory in a dense tensor, but a pointer each in bcsr.
  if (grid.cols == 0 && lines > max_empty_rows)
    fail("bcsr: too many block rows without columns: {}", lines);
  const auto columns_of = [&](Index l, Index& kept) {
    std::vector<std::int32_t> cols;
    each(l, [&](Index, Index c, Index) {
      ++kept;
      const auto block = static_cast<std::int32_t>(c / w);
      if (cols.empty() || cols.back() != block) cols.push_back(block);
    });
    std::sort(cols.begin(), cols.end());
    cols.erase(std::unique(cols.begin(), cols.end()), cols.end());
    return cols;
  };
  out.ptr = Array<std::int64_t>(lines + 1);
  std::int64_t* ptr = out.ptr.mutate();
  std::atomic<bool> prunes = false;
  grid.for_each_row([&](Index l) {
    Index kept = 0, inside = 0;
    const auto cols = columns_of(l, kept);
    for (const Index c : cols) inside += grid.height(l) * grid.width(c);
    if (kept < inside) prunes = true;
    ptr[l + 1] = std::ssize(cols);
  });
  for (Index l = 0; l < lines; ++l) ptr[l + 1] += ptr[l];

  out.col = Array<std::int32_t>::uninitialized(ptr[lines]);
  out.values = Values(from.dtype(), checked_size({ptr[lines], h, w}));
  std::int32_t* col = out.col.mutate();
  std::uint8_t* bits = nullptr;
  if (prunes) {
    out.mask.emplace(ceil_div(out.values.size(), 8));
    bits = out.mask->mutate();
  }
  with_width(from.width(), [&]<class U>(U) {
    const auto source = from.as<U>();
    const auto to = out.values.mutate<U>();
    grid.for_each_row([&](Index l) {
      Index kept = 0, last_row = -1, b = 0;
      const auto cols = columns_of(l, kept);
      std::copy(cols.begin(), cols.end(), col + ptr[l]);
      each(l, [&](Index r, Index c, Index i) {
        if (r != last_row) b = ptr[l];
        last_row = r;
        while (col[b] < c / w) ++b;
        const Index at = (b * h + r) * w + c % w;
        to[at] = source[i];
        if (bits) set_bit_shared(bits, at);  // blocks share bytes of the mask
      });
    });
  });
  return out;
}

}  // namespace

void Bcsr::check(const Spec& spec) {
  check_block(spec.integer("h"), spec.integer("w"));
  dims_of(spec);
}

Shape Bcsr::values_shape() const {
  check_block(h, w);
  const Shape shape{static_cast<Index>(col.size()), h, w};
  checked_size(shape);
  return shape;
}

Bcsr Bcsr::pack(const Dense& x, const Mask& keep, const Spec& spec) {
  check(spec);
  check_same_shape(x, keep);
  Bcsr out{x.extents, spec.integer("h"), spec.integer("w"), dims_of(spec), {}, {}, {}, {}};
  const Grid grid(out);
  const std::uint8_t* bits = keep.bits.data();
  const Index cols = grid.view.cols, stride = grid.view.col_stride;
  return build(std::move(out), grid, x.values, [&](Index l, auto&& f) {
    for (Index r = 0; r < grid.height(l); ++r) {
      const Index start = grid.view.row_offset(grid.row(l, r));
      for (Index c = 0; c < cols; ++c) {
        const Index i = start + c * stride;
        if (stride == 1 && i % 8 == 0 && cols - c >= 8 && bits[i / 8] == 0)
          c += 7;
        else if (bit_at(bits, i))
          f(r, c, i);
      }
    }
  });
}

Dense Bcsr::to_dense() const {
  const Grid grid(*this);
  Dense x = Dense::zeros(values.dtype(), extents);
  with_width(values.width(), [&]<class U>(U) {
    const auto from = values.as<U>();
    const auto to = x.values.mutate<U>();
    const Index stride = grid.view.col_stride;
    grid.for_each_run(*this, [&](Index, Index, Index first, Index start, Index n) {
      for (Index j = 0; j < n; ++j) to[start + j * stride] = from[first + j];
    });
  });
  return x;
}

Mask Bcsr::stored() const {
  const Grid grid(*this);
  Mask m = Mask::none(extents);
  std::uint8_t* bits = m.bits.mutate();
  // Neighbouring lines share bytes of the mask.
  grid.for_each_run(*this, [&](Index, Index, Index first, Index start, Index n) {
    for (Index j = 0; j < n; ++j)
      if (!mask || bit_at(mask->data(), first + j))
        set_bit_shared(bits, start + j * grid.view.col_stride);
  });
  return m;
}

double Bcsr::padding() const {
  const Grid grid(*this);
  Index inside = 0;
  for (Index l = 0; l < grid.lines(); ++l)
    for (Index b = ptr[l]; b < ptr[l + 1]; ++b) inside += grid.height(l) * grid.width(col[b]);
  return inside ? static_cast<double>(values.size()) / static_cast<double>(inside) - 1 : 0;
}

std::optional<Index> Bcsr::bytes(const Spec& spec, const Occupancy& of) {
  const Index h = spec.integer("h"), w = spec.integer("w");
  const MatrixView& view = of.view();
  if (ceil_div(view.cols, w) > std::numeric_limits<std::int32_t>::max() ||
      (view.cols == 0 && ceil_div(view.rows, h) > max_empty_rows))
    return std::nullopt;
  const Occupancy::Blocks blocks = of.blocks(h, w);
  const Index slots = blocks.count * h * w;
  return (ceil_div(view.rows, h) + 1) * 8 + blocks.count * 4 + slots * of.width() +
         (blocks.are_full ? 0 : ceil_div(slots, 8));
}

void Bcsr::loaded() const {
  const Grid grid(*this);
  const Index lines = grid.lines(), blocks = static_cast<Index>(col.size());
  if (static_cast<Index>(ptr.size()) != lines + 1)
    fail("{} block-row pointers do not fit {} block rows", ptr.size(), lines);
  if (ptr[0] != 0) fail("the block-row pointers start at {}, expected 0", ptr[0]);
  for (Index l = 0; l < lines; ++l)
    if (ptr[l + 1] < ptr[l]) fail("the block-row pointers decrease at block row {}", l);
  if (ptr[lines] != blocks)
    fail("the block-row pointers end at {}, but {} blocks are stored", ptr[lines], blocks);
  if (mask) check_mask_bits(*mask, values.size());
  grid.for_each_row([&](Index l) {
    for (Index b = ptr[l]; b < ptr[l + 1]; ++b) {
      if (col[b] < 0 || col[b] >= grid.cols)
        fail("block row {}: block column {} is out of range for {} block columns", l, col[b],
             grid.cols);
      if (b > ptr[l] && col[b] <= col[b - 1])
        fail("block row {}: block column {} follows block column {}", l, col[b], col[b - 1]);
    }
  });
  with_width(values.width(), [&]<class U>(U) {
    const auto stored = values.as<U>();
    grid.for_each_run(*this, [&](Index b, Index r, Index first, Index, Index inside) {
      for (Index j = 0; j < w; ++j) {
        const bool keeps = !mask || bit_at(mask->data(), first + j);
        if (j >= inside && mask && keeps)
          fail("block {}: the mask keeps ({}, {}), which is padding", b, r, j);
        if (stored[first + j] == U{0}) continue;
        if (j >= inside) fail("block {}: ({}, {}) is padding but not 0", b, r, j);
        if (!keeps) fail("block {}: ({}, {}) is masked out but not 0", b, r, j);
      }
    });
  });
}

Bcsr to_bcsr(const Csr& x, const Spec& spec) {
  Bcsr::check(spec);
  Bcsr out{x.extents, spec.integer("h"), spec.integer("w"), dims_of(spec), {}, {}, {}, {}};
  if (out.dims.str() != x.dims.str())
    fail_usage("bcsr: dims= of {} differs from dims= of the csr tensor", spec.str());
  const Grid grid(out);
  return build(std::move(out), grid, x.values, [&](Index l, auto&& f) {
    for (Index r = 0; r < grid.height(l); ++r) {
      const Index row = grid.row(l, r);
      for (Index at = x.ptr[row]; at < x.ptr[row + 1]; ++at) f(r, Index{x.index[at]}, at);
    }
  });
}

Csr to_csr(const Bcsr& x) {
  const Grid grid(x);
  if (grid.view.cols > std::numeric_limits<std::int32_t>::max())
    fail("csr: {} columns do not fit 32-bit column indices", grid.view.cols);
  const Index rows = grid.view.batches * grid.view.rows;
  // Calls f(row, column, index of the value) for the stored elements of line l, by ascending row,
  // then column.
  const auto each = [&](Index l, auto&& f) {
    for (Index r = 0; r < grid.height(l); ++r)
      for (Index b = x.ptr[l]; b < x.ptr[l + 1]; ++b)
        for (Index j = 0, first = (b * x.h + r) * x.w; j < grid.width(x.col[b]); ++j)
          if (!x.mask || bit_at(x.mask->data(), first + j))
            f(grid.row(l, r), x.col[b] * x.w + j, first + j);
  };
  Csr out{x.extents, x.dims, Array<std::int64_t>(rows + 1), {}, {}};
  std::int64_t* ptr = out.ptr.mutate();
  grid.for_each_row([&](Index l) { each(l, [&](Index row, Index, Index) { ++ptr[row + 1]; }); });
  for (Index r = 0; r < rows; ++r) ptr[r + 1] += ptr[r];
  out.index = Array<std::int32_t>::uninitialized(ptr[rows]);
  out.values = Values::uninitialized(x.values.dtype(), ptr[rows]);
  std::int32_t* index = out.index.mutate();
  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = x.values.as<U>();
    const auto to = out.values.mutate<U>();
    grid.for_each_row([&](Index l) {
      Index at = ptr[grid.row(l, 0)];
      each(l, [&](Index, Index c, Index i) {
        index[at] = static_cast<std::int32_t>(c);
        to[at++] = from[i];
      });
    });
  });
  return out;
}

}  // namespace sten
