// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/ell.h"

#include "libsten/core/base/error.h"
#include "libsten/core/layout/slot_values.h"
#include "libsten/core/tensor/occupancy.h"

namespace sten {
namespace {

bool is_too_wide(Index lines, Index width, Index nnz) {
  return width > 0 && lines > (4 * nnz + lines) / width;
}

void check_width(Index lines, Index width, Index nnz) {
  if (is_too_wide(lines, width, nnz))
    fail("ell: {} rows would be padded to {} entries each for {} entries in all (use csr)", lines,
         width, nnz);
}

}  // namespace

Shape Ell::part_shape() const {
  const MatrixView v = MatrixView::of(extents, dims);
  return v.part({v.rows, width});
}

// Calls f(slot, dense offset) for every entry.
template <class F>
void Ell::for_each(F&& f) const {
  const MatrixView v = MatrixView::of(extents, dims);
  for (Index slot = 0; slot < static_cast<Index>(index.size()); ++slot)
    if (index[slot] >= 0) f(slot, v.row_offset(slot / width) + index[slot] * v.col_stride);
}

Ell to_ell(const Csr& m) {
  const MatrixView v = m.view();
  const Index lines = v.batches * v.rows;
  Index width = 0;
  for (Index l = 0; l < lines; ++l) width = std::max<Index>(width, m.ptr[l + 1] - m.ptr[l]);
  check_width(lines, width, m.values.size());
  Ell out{m.extents, m.dims, width, Array<std::int32_t>::uninitialized(lines * width),
          Values(m.values.dtype(), lines * width)};
  std::int32_t* index = out.index.mutate();
  std::fill_n(index, lines * width, std::int32_t{-1});
  with_width(m.values.width(), [&]<class U>(U) {
    const auto from = m.values.as<U>();
    const auto to = out.values.mutate<U>();
    for (Index l = 0; l < lines; ++l) {
      Index slot = l * width;
      for (Index at = m.ptr[l]; at < m.ptr[l + 1]; ++at, ++slot) {
        index[slot] = m.index[at];
        to[slot] = from[at];
      }
    }
  });
  return out;
}

Csr to_csr(const Ell& m) {
  const MatrixView v = MatrixView::of(m.extents, m.dims);
  const Index lines = v.batches * v.rows;
  Csr out{m.extents, m.dims, Array<std::int64_t>(lines + 1), {}, {}};
  std::int64_t* ptr = out.ptr.mutate();
  Index nnz = 0;
  for (Index l = 0; l < lines; ++l) {
    for (Index k = 0; k < m.width; ++k) nnz += m.index[l * m.width + k] >= 0;
    ptr[l + 1] = nnz;
  }
  out.index = Array<std::int32_t>::uninitialized(nnz);
  out.values = Values::uninitialized(m.values.dtype(), nnz);
  std::int32_t* index = out.index.mutate();
  with_width(m.values.width(), [&]<class U>(U) {
    const auto from = m.values.as<U>();
    const auto to = out.values.mutate<U>();
    Index at = 0;
    for (Index slot = 0; slot < lines * m.width; ++slot)
      if (m.index[slot] >= 0) {
        index[at] = m.index[slot];
        to[at++] = from[slot];
      }
  });
  return out;
}

Ell Ell::pack(const Dense& x, const Mask& keep, const Spec& spec) {
  return to_ell(Csr::pack(x, keep, spec));
}

std::optional<Index> Ell::bytes(const Spec&, const Occupancy& of) {
  const Index rows = of.view().rows, width = of.longest_row();
  if (!layout_detail::are_packed(of.view()) || is_too_wide(rows, width, of.stored()))
    return std::nullopt;
  return rows * width * (4 + of.width());
}

Dense Ell::to_dense() const {
  return dense_of_slots(values, extents, [&](auto&& f) { for_each(f); });
}

Mask Ell::stored() const {
  return mask_of_slots(extents, [&](auto&& f) { for_each(f); });
}

double Ell::padding() const {
  Index entries = 0;
  for_each([&](Index, Index) { ++entries; });
  const Index n = size_of(extents);
  return n ? static_cast<double>(values.size() - entries) / static_cast<double>(n) : 0;
}

void Ell::loaded() {
  const MatrixView v = MatrixView::of(extents, dims);
  layout_detail::check_columns(v, name);
  const Index lines = v.batches * v.rows, slots = values.size();
  if (static_cast<Index>(index.size()) != slots)
    fail("{} column indices do not fit {} values", index.size(), slots);
  width = lines ? slots / lines : 0;
  Index entries = 0, longest = 0;
  with_width(values.width(), [&]<class U>(U) {
    const auto stored = values.as<U>();
    for (Index l = 0; width > 0 && l < lines; ++l) {
      Index n = 0;
      for (Index k = 0; k < width; ++k) {
        const Index slot = l * width + k, c = index[slot];
        if (c < -1 || c >= v.cols)
          fail("row {}: column {} is out of range for {} columns", l, c, v.cols);
        if (c < 0) {
          if (stored[slot] != U{0}) fail("row {}: entry {} is padding but not 0", l, k);
          continue;
        }
        if (k > n) fail("row {}: entry {} follows padding", l, k);
        if (n > 0 && c <= index[slot - 1])
          fail("row {}: column {} follows column {}", l, c, index[slot - 1]);
        ++n;
      }
      longest = std::max(longest, n);
      entries += n;
    }
  });
  if (longest != width)
    fail("rows have {} slots, but the longest row has {} entries", width, longest);
  check_width(lines, width, entries);
}

}  // namespace sten
