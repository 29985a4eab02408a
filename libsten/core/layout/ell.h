// SPDX-License-Identifier: Apache-2.0
// ell: rows padded to equal length, that of the longest row.
#pragma once
#include "libsten/core/layout/compressed.h"
#include "libsten/core/tensor/layout.h"

namespace sten {

struct Ell {
  static constexpr const char* name = "ell";
  static constexpr SpecDoc doc{
      "ell",
      "`index` I32 `[batch..., rows, w]`, column numbers ascending within a row, then -1 as "
      "padding; `values [batch..., rows, w]`, 0 in padding. w is the length of the longest row; "
      "`rows * w > 4 nnz + rows` is an error"};
  Shape extents;
  Dims dims;
  Index width = any_extent;   // w, entries of the longest row; unknown on reading
  Array<std::int32_t> index;  // [batch..., R, w], column, ascending within a row; -1 pads
  Values values;              // [batch..., R, w]; padding is 0

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("dims", self.dims);
    f("index", self.index, self.part_shape());
    f("values", self.values, self.part_shape());
  }
  const Shape& shape() const { return extents; }
  Dense to_dense() const;
  Mask stored() const;
  double padding() const;
  // Error if rows * w > 4 nnz + rows: a few long rows would make ell larger than dense.
  static Ell pack(const Dense& x, const Mask& keep, const Spec& spec);
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
  void loaded();
  static void check(const Spec& spec) { dims_of(spec); }

 private:
  Shape part_shape() const;
  template <class F>
  void for_each(F&& f) const;
};

// Converts with the same entries. Error as in Ell::pack().
Ell to_ell(const Csr& m);
Csr to_csr(const Ell& m);

}  // namespace sten
