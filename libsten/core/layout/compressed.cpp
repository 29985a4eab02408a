// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/compressed.h"

#include <limits>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/occupancy.h"

namespace sten {
namespace layout_detail {

Index row_grain(Index cols) { return std::max<Index>(1, mask_grain / std::max<Index>(1, cols)); }

bool are_packed(const MatrixView& view) {
  return view.cols <= std::numeric_limits<std::int32_t>::max() &&
         (view.cols > 0 || view.rows <= max_empty_rows);
}

void check_columns(const MatrixView& view, std::string_view layout) {
  const char* place = layout == Csc::name ? "row" : "column";
  if (view.cols > std::numeric_limits<std::int32_t>::max())
    fail("{}: {} {}s do not fit 32-bit {} indices", layout, view.cols, place, place);
}

void check_pointers(const Array<std::int64_t>& ptr, Index lines, Index nnz, const char* line) {
  if (static_cast<Index>(ptr.size()) != lines + 1)
    fail("{} {} pointers do not fit {} {}s", ptr.size(), line, lines, line);
  if (ptr[0] != 0) fail("the {} pointers start at {}, expected 0", line, ptr[0]);
  for (Index l = 0; l < lines; ++l)
    if (ptr[l + 1] < ptr[l]) fail("the {} pointers decrease at {} {}", line, line, l);
  if (ptr[lines] != nnz)
    fail("the {} pointers end at {}, but {} values are stored", line, ptr[lines], nnz);
}

}  // namespace layout_detail

namespace {

using layout_detail::row_grain;

Csr pack_rows(const Dense& x, const Mask& keep, Dims dims) {
  const MatrixView view = MatrixView::of(x.extents, dims);
  const Index lines = view.batches * view.rows;
  const std::uint8_t* bits = keep.bits.data();
  Csr m{x.extents, dims, Array<std::int64_t>(lines + 1), {}, {}};
  std::int64_t* ptr = m.ptr.mutate();
  parallel_for(lines, row_grain(view.cols), [&](Index begin, Index end) {
    for (Index l = begin; l < end; ++l) {
      const Index start = view.row_offset(l);
      Index n = 0;
      for (Index c = 0; c < view.cols; ++c) n += bit_at(bits, start + c * view.col_stride);
      ptr[l + 1] = n;
    }
  });
  for (Index l = 0; l < lines; ++l) ptr[l + 1] += ptr[l];

  m.index = Array<std::int32_t>::uninitialized(ptr[lines]);
  m.values = Values::uninitialized(x.dtype(), ptr[lines]);
  std::int32_t* index = m.index.mutate();
  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = x.values.as<U>();
    const auto to = m.values.mutate<U>();
    parallel_for(lines, row_grain(view.cols), [&](Index begin, Index end) {
      for (Index l = begin; l < end; ++l) {
        Index at = ptr[l];
        const Index start = view.row_offset(l);
        for (Index c = 0; c < view.cols; ++c) {
          const Index i = start + c * view.col_stride;
          if (!bit_at(bits, i)) continue;
          index[at] = static_cast<std::int32_t>(c);
          to[at++] = from[i];
        }
      }
    });
  });
  return m;
}

// A counting sort by position within the line; being stable, it keeps positions ascending.
template <bool by_column>
Compressed<!by_column> transpose(const Compressed<by_column>& m) {
  const MatrixView v = m.view();
  const Index nnz = m.values.size();
  layout_detail::check_columns(MatrixView::of(m.extents, m.dims, !by_column),
                               Compressed<!by_column>::name);
  Compressed<!by_column> t{m.extents, m.dims, Array<std::int64_t>(v.batches * v.cols + 1),
                           Array<std::int32_t>::uninitialized(nnz),
                           Values::uninitialized(m.values.dtype(), nnz)};
  std::int64_t* ptr = t.ptr.mutate();
  std::int32_t* index = t.index.mutate();
  for (Index b = 0; b < v.batches; ++b)
    for (Index at = m.ptr[b * v.rows]; at < m.ptr[(b + 1) * v.rows]; ++at)
      ++ptr[b * v.cols + m.index[at] + 1];
  for (Index l = 0; l < v.batches * v.cols; ++l) ptr[l + 1] += ptr[l];
  std::vector<std::int64_t> next(t.ptr.data(), t.ptr.data() + v.batches * v.cols);
  with_width(m.values.width(), [&]<class U>(U) {
    const auto from = m.values.template as<U>();
    const auto to = t.values.template mutate<U>();
    for (Index l = 0; l < v.batches * v.rows; ++l)
      for (Index at = m.ptr[l]; at < m.ptr[l + 1]; ++at) {
        const Index slot = next[l / v.rows * v.cols + m.index[at]]++;
        index[slot] = static_cast<std::int32_t>(l % v.rows);
        to[slot] = from[at];
      }
  });
  return t;
}

}  // namespace

Csc to_csc(const Csr& m) { return transpose(m); }
Csr to_csr(const Csc& m) { return transpose(m); }

template <bool by_column>
void Compressed<by_column>::check(const Spec& spec) {
  dims_of(spec);
}

template <bool by_column>
Compressed<by_column> Compressed<by_column>::pack(const Dense& x, const Mask& keep,
                                                  const Spec& spec) {
  check_same_shape(x, keep);
  const Dims dims = dims_of(spec);
  const MatrixView view = MatrixView::of(x.extents, dims, by_column);
  layout_detail::check_columns(view, name);
  // Lines of length 0 take no memory in a dense tensor, but a pointer each in `ptr`.
  if (view.cols == 0 && view.batches * view.rows > max_empty_rows)
    fail("{0}: too many {2} without {3}: {1}", name, view.batches * view.rows,
         by_column ? "columns" : "rows", by_column ? "rows" : "columns");
  // Packing csc directly would read the dense tensor across its rows.
  if constexpr (by_column)
    return to_csc(Csr::pack(x, keep, Spec(spec)));
  else
    return pack_rows(x, keep, dims);
}

template <bool by_column>
Dense Compressed<by_column>::to_dense() const {
  const MatrixView v = view();
  Dense x = Dense::zeros(values.dtype(), extents);
  with_width(values.width(), [&]<class U>(U) {
    const auto from = values.as<U>();
    const auto to = x.values.mutate<U>();
    parallel_for(v.batches * v.rows, row_grain(v.cols), [&](Index begin, Index end) {
      for (Index l = begin; l < end; ++l) {
        const Index start = v.row_offset(l);
        for (Index at = ptr[l]; at < ptr[l + 1]; ++at)
          to[start + index[at] * v.col_stride] = from[at];
      }
    });
  });
  return x;
}

template <bool by_column>
Mask Compressed<by_column>::stored() const {
  const MatrixView v = view();
  Mask m = Mask::none(extents);
  std::uint8_t* bits = m.bits.mutate();
  for (Index l = 0; l < v.batches * v.rows; ++l) {
    const Index start = v.row_offset(l);
    for (Index at = ptr[l]; at < ptr[l + 1]; ++at) set_bit(bits, start + index[at] * v.col_stride);
  }
  return m;
}

template <bool by_column>
std::optional<Index> Compressed<by_column>::bytes(const Spec&, const Occupancy& of) {
  const MatrixView view = MatrixView::of(of.positions().extents, {}, by_column);
  if (!layout_detail::are_packed(view)) return std::nullopt;
  return (view.rows + 1) * 8 + of.stored() * (4 + of.width());
}

template <bool by_column>
void Compressed<by_column>::loaded() const {
  constexpr const char* line = by_column ? "column" : "row";
  constexpr const char* place = by_column ? "row" : "column";
  const MatrixView v = view();
  layout_detail::check_columns(v, name);
  const Index lines = v.batches * v.rows, nnz = values.size();
  if (static_cast<Index>(index.size()) != nnz)
    fail("{} {} indices do not fit {} values", index.size(), place, nnz);
  layout_detail::check_pointers(ptr, lines, nnz, line);
  parallel_for(lines, row_grain(v.cols), [&](Index begin, Index end) {
    for (Index l = begin; l < end; ++l)
      for (Index at = ptr[l]; at < ptr[l + 1]; ++at) {
        if (index[at] < 0 || index[at] >= v.cols)
          fail("{} {}: {} {} is out of range for {} {}s", line, l, place, index[at], v.cols, place);
        if (at > ptr[l] && index[at] <= index[at - 1])
          fail("{} {}: {} {} follows {} {}", line, l, place, index[at], place, index[at - 1]);
      }
  });
}

template struct Compressed<false>;
template struct Compressed<true>;

}  // namespace sten
