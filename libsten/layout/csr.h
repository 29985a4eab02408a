// Compressed sparse rows of the matrix a tensor is seen as; the rows of all batches in turn.
#pragma once
#include "libsten/tensor/dense.h"
#include "libsten/tensor/matrix_view.h"

namespace sten {

struct Csr {
  static constexpr const char* name = "csr";
  Shape extents;
  Dims dims;
  Array<std::int64_t> ptr;    // [batches * rows + 1]; row l is entries ptr[l] to ptr[l + 1]
  Array<std::int32_t> index;  // [nnz], column, ascending within a row
  Values values;              // [nnz]

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("dims", self.dims);
    f("ptr", self.ptr);
    f("index", self.index);
    f("values", self.values);
  }
  const Shape& shape() const { return extents; }
  Dense to_dense() const;
  Mask stored() const;
  static Csr pack(const Dense& x, const Mask& keep, const Spec& spec);
  void loaded() const;
  static void check(const Spec& spec);
};

// dims= of a layout's spec; not given: empty.
Dims dims_of(const Spec& spec);

}  // namespace sten
