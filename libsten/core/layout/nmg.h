// SPDX-License-Identifier: Apache-2.0
// n:m:g: n values in every strip of m; every pattern belongs to exactly g strips of a chunk (STen
// paper, section 5).
#pragma once
#include "libsten/core/layout/nmg_geometry.h"
#include "libsten/core/tensor/dense.h"

namespace sten {

struct Nmg {
  static constexpr const char* name = "nmg";
  static constexpr SpecDoc doc{"nmg:n=1,m=10,g=4[,axis=0]",
                               "`values [row blocks, chunks, C, g, n]`; `index [row blocks, "
                               "chunks, C, g]`, U8 if `C*g <= 256`, else U16"};
  static constexpr const char* own_sparsifier = "nmg";
  static constexpr bool has_fillers = true;
  Shape extents;
  Index n = 1, m = 1, g = 1, axis = 0;
  Dims dims;
  Values values;  // [batch..., row_blocks, chunks, C, g, n]
  Values index;   // [batch..., row_blocks, chunks, C, g], column in the chunk; U8 if C*g <= 256,
                  // else U16

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("n", self.n);
    f("m", self.m);
    f("g", self.g);
    f("axis", self.axis, Index{0});
    f("dims", self.dims);
    f("values", self.values, self.part_shape(true));
    f("index", self.index, self.part_shape(false));
  }
  const Shape& shape() const { return extents; }
  NmgGeometry geometry() const { return NmgGeometry::of(extents, n, m, g, axis, dims); }
  Dense to_dense() const;
  bool unpacks_on_device() const;
  bool stored_on_device() const { return unpacks_on_device(); }
  // All slots inside the tensor, since fillers equal kept zeros.
  Mask stored() const;
  double padding() const;
  // The dense offset of each slot of `values`, -1 in padding.
  std::vector<Index> offsets() const;
  // Stores exactly the mask, by matching; never selects elements. Error if and only if the mask
  // cannot be stored. Slots of a group are sorted by column.
  static Nmg pack(const Dense& x, const Mask& keep, const Spec& spec) {
    return pack(x, keep, spec, spec.str());
  }
  // The same; errors call the layout `what`.
  static Nmg pack(const Dense& x, const Mask& keep, const Spec& spec, std::string_view what);
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
  // A tensor whose values and indices the caller writes.
  static Nmg unwritten(DType dtype, const Shape& shape, Index n, Index m, Index g, Index axis,
                       Dims dims, Device device = Device::cpu);
  void loaded() const;
  // Whether `other` is nmg with the same parameters and dims.
  static bool includes(const Spec& spec, const Spec& other);
  static void check(const Spec& spec);

 private:
  Shape part_shape(bool values) const;
};

}  // namespace sten
