// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/coo.h"

#include <algorithm>
#include <limits>

#include "libsten/core/base/error.h"
#include "libsten/core/layout/slot_values.h"
#include "libsten/core/tensor/occupancy.h"

namespace sten {
namespace {

MatrixView checked_view(const Shape& extents, Dims dims) {
  const MatrixView v = MatrixView::of(extents, dims);
  layout_detail::check_columns(v, "coo");
  const Index lines = v.batches * v.rows;
  if (lines > std::numeric_limits<std::int32_t>::max())
    fail("coo: {} rows do not fit 32-bit row indices", lines);
  return v;
}

}  // namespace

Coo to_coo(const Csr& m) {
  const MatrixView v = checked_view(m.extents, m.dims);
  Coo out{m.extents, m.dims, Array<std::int32_t>::uninitialized(m.index.size()), m.index, m.values};
  std::int32_t* row = out.row.mutate();
  for (Index l = 0; l < v.batches * v.rows; ++l)
    for (Index at = m.ptr[l]; at < m.ptr[l + 1]; ++at) row[at] = static_cast<std::int32_t>(l);
  return out;
}

Csr to_csr(const Coo& m) {
  const MatrixView v = MatrixView::of(m.extents, m.dims);
  const Index lines = v.batches * v.rows;
  Csr out{m.extents, m.dims, Array<std::int64_t>(lines + 1), m.col, m.values};
  std::int64_t* ptr = out.ptr.mutate();
  for (const std::int32_t r : std::span(m.row.data(), m.row.size())) ++ptr[r + 1];
  for (Index l = 0; l < lines; ++l) ptr[l + 1] += ptr[l];
  return out;
}

Coo Coo::pack(const Dense& x, const Mask& keep, const Spec& spec) {
  check_same_shape(x, keep);
  checked_view(x.extents, dims_of(spec));
  return to_coo(Csr::pack(x, keep, spec));
}

// Calls f(entry, dense offset).
template <class F>
void Coo::for_each(F&& f) const {
  const MatrixView v = MatrixView::of(extents, dims);
  for (Index k = 0; k < values.size(); ++k) f(k, v.row_offset(row[k]) + col[k] * v.col_stride);
}

Dense Coo::to_dense() const {
  return dense_of_slots(values, extents, [&](auto&& f) { for_each(f); });
}

Mask Coo::stored() const {
  return mask_of_slots(extents, [&](auto&& f) { for_each(f); });
}

std::optional<Index> Coo::bytes(const Spec&, const Occupancy& of) {
  if (std::max(of.view().rows, of.view().cols) > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  return of.stored() * (8 + of.width());
}

void Coo::loaded() const {
  const MatrixView v = checked_view(extents, dims);
  const Index nnz = values.size(), lines = v.batches * v.rows;
  if (static_cast<Index>(row.size()) != nnz || static_cast<Index>(col.size()) != nnz)
    fail("{} row indices and {} column indices do not fit {} values", row.size(), col.size(), nnz);
  for (Index k = 0; k < nnz; ++k) {
    if (row[k] < 0 || row[k] >= lines)
      fail("entry {}: row {} is out of range for {} rows", k, row[k], lines);
    if (col[k] < 0 || col[k] >= v.cols)
      fail("entry {}: column {} is out of range for {} columns", k, col[k], v.cols);
    if (k > 0 && (row[k] < row[k - 1] || (row[k] == row[k - 1] && col[k] <= col[k - 1])))
      fail("entry {}: position ({}, {}) follows position ({}, {})", k, row[k], col[k], row[k - 1],
           col[k - 1]);
  }
}

}  // namespace sten
