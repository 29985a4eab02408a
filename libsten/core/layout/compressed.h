// SPDX-License-Identifier: Apache-2.0
// csr and csc: compressed sparse rows and columns of a matrix view.
#pragma once
#include "libsten/core/tensor/dense.h"
#include "libsten/core/tensor/matrix_view.h"

namespace sten {

// Entries line by line. A line is a row of csr or a column of csc; the lines of all batches follow
// each other.
template <bool by_column>
struct Compressed {
  static constexpr const char* name = by_column ? "csc" : "csr";
  static constexpr SpecDoc doc =
      by_column ? SpecDoc{"csc",
                          "as `csr`, for columns: `ptr` I64 `[columns + 1]`; `index` I32 `[nnz]`, "
                          "row numbers; `values [nnz]`"}
                : SpecDoc{"csr",
                          "`ptr` I64 `[rows + 1]`; `index` I32 `[nnz]`, ascending within a row; "
                          "`values [nnz]`. With batch dimensions, the rows of all batches in turn"};
  static constexpr bool holds_any_pattern = true;
  Shape extents;
  Dims dims;
  Array<std::int64_t> ptr;    // [batches * lines + 1]; line l is entries ptr[l] to ptr[l + 1]
  Array<std::int32_t> index;  // [nnz], position within the line, ascending
  Values values;              // [nnz]

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("dims", self.dims);
    f("ptr", self.ptr);
    f("index", self.index);
    f("values", self.values);
  }
  const Shape& shape() const { return extents; }
  // The rows of this view are the lines.
  MatrixView view() const { return MatrixView::of(extents, dims, by_column); }
  Dense to_dense() const;
  Mask stored() const;
  static Compressed pack(const Dense& x, const Mask& keep, const Spec& spec);
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
  void loaded() const;
  static void check(const Spec& spec);
};

using Csr = Compressed<false>;
using Csc = Compressed<true>;
extern template struct Compressed<false>;
extern template struct Compressed<true>;

// Converts between csr and csc, with the same entries: O(nnz + rows + columns).
Csc to_csc(const Csr& m);
Csr to_csr(const Csc& m);

// Maximum number of lines of length 0: a dense tensor has no memory for them, but `ptr` has.
inline constexpr Index max_empty_rows = Index{1} << 24;

namespace layout_detail {

// Error unless `ptr` has `lines` + 1 entries, starts at 0, ascends and ends at nnz. `line` names a
// line in messages: "row".
void check_pointers(const Array<std::int64_t>& ptr, Index lines, Index nnz, const char* line);
// Error unless the view's column indices (row indices for csc) fit in the 32 bits of `layout`.
void check_columns(const MatrixView& view, std::string_view layout);
// Whether pack() accepts the view's numbers of rows and columns.
bool are_packed(const MatrixView& view);
// Number of lines per range of a parallel loop: about mask_grain elements.
Index row_grain(Index cols);

}  // namespace layout_detail

}  // namespace sten
