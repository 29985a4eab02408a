// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/convert.h"

#include <algorithm>
#include <limits>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

// Rows that are worth waking a thread for.
constexpr Index lines_per_thread = 64;

// Makes csr of entries in any order: offsets[slot] is the dense offset of a value, -1 in padding.
Csr gathered(const Shape& extents, Dims dims, const Values& values,
             const std::vector<Index>& offsets) {
  const MatrixView v = MatrixView::of(extents, dims);
  layout_detail::check_columns(v, "csr");
  const Index lines = v.batches * v.rows;
  Csr out{extents, dims, Array<std::int64_t>(lines + 1), {}, {}};
  std::int64_t* ptr = out.ptr.mutate();
  for (const Index at : offsets)
    if (at >= 0) ++ptr[v.place(at).first + 1];
  for (Index l = 0; l < lines; ++l) ptr[l + 1] += ptr[l];
  struct Entry {
    Index col, slot;
  };
  std::vector<Entry> entries(ptr[lines]);
  std::vector<std::int64_t> next(ptr, ptr + lines);
  for (std::size_t slot = 0; slot < offsets.size(); ++slot)
    if (offsets[slot] >= 0) {
      const auto [l, c] = v.place(offsets[slot]);
      entries[next[l]++] = {c, static_cast<Index>(slot)};
    }
  out.index = Array<std::int32_t>::uninitialized(entries.size());
  out.values = Values::uninitialized(values.dtype(), ptr[lines]);
  std::int32_t* index = out.index.mutate();
  with_width(values.width(), [&]<class U>(U) {
    const auto from = values.as<U>();
    const auto to = out.values.mutate<U>();
    const auto some = [&](Index begin, Index end) {
      for (Index l = begin; l < end; ++l) {
        std::sort(entries.begin() + ptr[l], entries.begin() + ptr[l + 1],
                  [](const Entry& a, const Entry& b) { return a.col < b.col; });
        for (Index at = ptr[l]; at < ptr[l + 1]; ++at) {
          index[at] = static_cast<std::int32_t>(entries[at].col);
          to[at] = from[entries[at].slot];
        }
      }
    };
    parallel_for(lines, lines_per_thread, some);
  });
  return out;
}

}  // namespace

Csr to_csr(const Bitmask& x) {
  const MatrixView v = MatrixView::of(x.extents);
  layout_detail::check_columns(v, "csr");
  Csr out{x.extents,
          {},
          Array<std::int64_t>(v.rows + 1),
          Array<std::int32_t>::uninitialized(x.values.size()),
          x.values};
  std::int64_t* ptr = out.ptr.mutate();
  std::int32_t* index = out.index.mutate();
  Index at = 0;
  for (Index r = 0; r < v.rows; ++r) {
    for (Index c = 0; c < v.cols; ++c)
      if (bit_at(x.mask.data(), r * v.cols + c)) index[at++] = static_cast<std::int32_t>(c);
    ptr[r + 1] = at;
  }
  return out;
}

Bitmask to_bitmask(const Csr& x) { return {x.extents, x.stored().bits, x.values}; }

// One sort instead of two counting sorts, which would need a counter per row.
Coo to_coo(const Csc& x) {
  const MatrixView v = x.view();  // its rows are the columns of x
  if (v.batches * v.cols > std::numeric_limits<std::int32_t>::max())
    fail("coo: {} rows do not fit 32-bit row indices", v.batches * v.cols);
  layout_detail::check_columns(MatrixView::of(x.extents, x.dims), Coo::name);
  struct Entry {
    std::int32_t row, col;
    Index slot;
  };
  std::vector<Entry> entries(x.values.size());
  for (Index l = 0; l < v.batches * v.rows; ++l)
    for (Index k = x.ptr[l]; k < x.ptr[l + 1]; ++k)
      entries[k] = {static_cast<std::int32_t>(l / v.rows * v.cols + x.index[k]),
                    static_cast<std::int32_t>(l % v.rows), k};
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.row != b.row ? a.row < b.row : a.col < b.col;
  });
  Coo out{x.extents, x.dims, Array<std::int32_t>::uninitialized(entries.size()),
          Array<std::int32_t>::uninitialized(entries.size()),
          Values::uninitialized(x.values.dtype(), x.values.size())};
  std::int32_t *row = out.row.mutate(), *col = out.col.mutate();
  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = x.values.as<U>();
    const auto to = out.values.mutate<U>();
    for (std::size_t k = 0; k < entries.size(); ++k) {
      row[k] = entries[k].row;
      col[k] = entries[k].col;
      to[k] = from[entries[k].slot];
    }
  });
  return out;
}

// A counting sort by column; being stable, it keeps rows ascending.
Csc to_csc(const Coo& x) {
  const MatrixView v = MatrixView::of(x.extents, x.dims);
  const Index lines = v.batches * v.cols, nnz = x.values.size();
  const auto line_of = [&](Index k) { return x.row[k] / v.rows * v.cols + x.col[k]; };
  Csc out{x.extents, x.dims, Array<std::int64_t>(lines + 1),
          Array<std::int32_t>::uninitialized(nnz), Values::uninitialized(x.values.dtype(), nnz)};
  std::int64_t* ptr = out.ptr.mutate();
  std::int32_t* index = out.index.mutate();
  for (Index k = 0; k < nnz; ++k) ++ptr[line_of(k) + 1];
  for (Index l = 0; l < lines; ++l) ptr[l + 1] += ptr[l];
  std::vector<std::int64_t> next(ptr, ptr + lines);
  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = x.values.as<U>();
    const auto to = out.values.mutate<U>();
    for (Index k = 0; k < nnz; ++k) {
      const Index slot = next[line_of(k)]++;
      index[slot] = static_cast<std::int32_t>(x.row[k] % v.rows);
      to[slot] = from[k];
    }
  });
  return out;
}

Csr to_csr(const Nm& x) { return gathered(x.extents, x.dims, x.values, x.offsets()); }
Csr to_csr(const Nmg& x) { return gathered(x.extents, x.dims, x.values, x.offsets()); }
Csr to_csr(const Nmgv& x) { return gathered(x.extents, x.dims, x.values, x.offsets()); }

// Without dims, entries are in row order already.
Csr to_csr(const Entries& x, Dims dims) {
  if (dims.given()) return gathered(x.extents, dims, x.values, x.at);
  const MatrixView v = MatrixView::of(x.extents);
  layout_detail::check_columns(v, Csr::name);
  Csr out{x.extents,
          {},
          Array<std::int64_t>(v.rows + 1),
          Array<std::int32_t>::uninitialized(x.size()),
          x.values};
  std::int64_t* ptr = out.ptr.mutate();
  std::int32_t* index = out.index.mutate();
  for (Index r = 0, k = 0; r < v.rows; ptr[++r] = k)
    for (const Index first = r * v.cols; k < x.size() && x.at[k] < first + v.cols; ++k)
      index[k] = static_cast<std::int32_t>(x.at[k] - first);
  return out;
}

Coo to_coo(const Entries& x, Dims dims) {
  if (dims.given()) return to_coo(to_csr(x, dims));
  const MatrixView v = MatrixView::of(x.extents);
  Coo out{x.extents,
          {},
          Array<std::int32_t>::uninitialized(x.size()),
          Array<std::int32_t>::uninitialized(x.size()),
          x.values};
  std::int32_t *row = out.row.mutate(), *col = out.col.mutate();
  for (Index k = 0; k < x.size(); ++k) {
    row[k] = static_cast<std::int32_t>(x.at[k] / v.cols);
    col[k] = static_cast<std::int32_t>(x.at[k] % v.cols);
  }
  return out;
}

Bitmask to_bitmask(const Entries& x) {
  Mask mask = Mask::none(x.extents);
  std::uint8_t* bits = mask.bits.mutate();
  for (const Index at : x.at) set_bit(bits, at);
  return {x.extents, mask.bits, x.values};
}

}  // namespace sten
