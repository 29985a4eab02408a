// Compressed sparse rows, and columns, of the matrix a tensor is seen as.
#pragma once
#include "libsten/tensor/dense.h"
#include "libsten/tensor/matrix_view.h"

namespace sten {

// The entries of each line in turn, a line being a row, or a column of csc; with batch dimensions,
// the lines of all batches in turn.
template <bool by_column>
struct Compressed {
  static constexpr const char* name = by_column ? "csc" : "csr";
  static constexpr bool holds_any_pattern = true;
  Shape extents;
  Dims dims;
  Array<std::int64_t> ptr;    // [batches * lines + 1]; line l is entries ptr[l] to ptr[l + 1]
  Array<std::int32_t> index;  // [nnz], place within the line, ascending
  Values values;              // [nnz]

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("dims", self.dims);
    f("ptr", self.ptr);
    f("index", self.index);
    f("values", self.values);
  }
  const Shape& shape() const { return extents; }
  // Its rows are the lines.
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

// The same entries by the other kind of line: O(nnz + rows + columns).
Csc to_csc(const Csr& m);
Csr to_csr(const Csc& m);

// Lines without places that a layout has pointers for: in dense they cost no memory.
inline constexpr Index max_empty_rows = Index{1} << 24;

namespace layout_detail {

// Error unless `ptr` starts at 0, ascends, and ends at nnz, with one more than `lines` entries;
// `line` is what messages call them: "row".
void check_pointers(const Array<std::int64_t>& ptr, Index lines, Index nnz, const char* line);
// Error unless the view's column numbers, which are the rows of csc, fit the 32 bits that `layout`
// has for them.
void check_columns(const MatrixView& view, std::string_view layout);
// Whether pack() takes that many lines and places of them.
bool are_packed(const MatrixView& view);
// Lines for one piece of parallel work: about mask_grain elements.
Index row_grain(Index cols);

}  // namespace layout_detail

}  // namespace sten
