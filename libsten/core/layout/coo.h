// SPDX-License-Identifier: Apache-2.0
// coo: coordinates, the row, column and value of each entry.
#pragma once
#include "libsten/core/layout/compressed.h"

namespace sten {

struct Coo {
  static constexpr const char* name = "coo";
  static constexpr SpecDoc doc{"coo",
                               "`row`, `col` I32 `[nnz]`, ascending by row, then column; `values "
                               "[nnz]`. With batch dimensions `row` is `batch * rows + row`"};
  static constexpr bool holds_any_pattern = true;
  Shape extents;
  Dims dims;
  Array<std::int32_t> row;  // [nnz], ascending; batch * rows + row
  Array<std::int32_t> col;  // [nnz], ascending within a row
  Values values;            // [nnz]

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("dims", self.dims);
    f("row", self.row);
    f("col", self.col);
    f("values", self.values);
  }
  const Shape& shape() const { return extents; }
  Dense to_dense() const;
  Mask stored() const;
  static Coo pack(const Dense& x, const Mask& keep, const Spec& spec);
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
  void loaded() const;
  static void check(const Spec& spec) { dims_of(spec); }

 private:
  template <class F>
  void for_each(F&& f) const;
};

// Converts with the same entries in O(nnz + rows). Error if the rows of all batches exceed 32 bits.
Coo to_coo(const Csr& m);
// Error if the row pointers do not fit in memory: 2^31 rows need 17 GB.
Csr to_csr(const Coo& m);

}  // namespace sten
