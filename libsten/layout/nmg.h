// Grouped n:m: n values in every strip of m, every pattern used by exactly g strips of a chunk
// (paper, section 5).
#pragma once
#include "libsten/tensor/dense.h"
#include "libsten/tensor/matrix_view.h"

namespace sten {

// How an [R, K] matrix is cut; with axis 1 rows and columns are exchanged.
struct NmgGeometry {
  MatrixView view;  // transposed for axis 1: strips always run down rows
  Index n, m, g;
  Index patterns;  // C = C(m, n)
  Index strips;    // C * g, the columns of a chunk
  Index row_blocks, chunks;

  static NmgGeometry of(const Shape& shape, Index n, Index m, Index g, Index axis, Dims dims);
  Index units() const { return view.batches * row_blocks * chunks; }
  // Of the strips' columns in their chunk.
  DType index_dtype() const { return strips <= 256 ? DType::U8 : DType::U16; }
};

// A chunk of one row block: unit u of units().
struct NmgUnit {
  Index row0, col0;  // in its matrix
  Index rows, cols;  // besides padding
  Index offset;      // dense offset of its first element
  NmgUnit(const NmgGeometry& geo, Index u);
};

struct Nmg {
  static constexpr const char* name = "nmg";
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
  // All slots inside the tensor: a filler cannot be told from a kept zero.
  Mask stored() const;
  double padding() const;
  // For each slot of `values` its dense offset, -1 in padding.
  std::vector<Index> offsets() const;
  // Stores exactly the mask, by placement, never by fitting; Error if and only if that is not
  // possible. Slots of a group are sorted by column.
  static Nmg pack(const Dense& x, const Mask& keep, const Spec& spec) {
    return pack(x, keep, spec, spec.str());
  }
  // The same, where errors call the layout `what`.
  static Nmg pack(const Dense& x, const Mask& keep, const Spec& spec, std::string_view what);
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
  // With values and indices that the caller writes before anything reads them.
  static Nmg unwritten(DType dtype, const Shape& shape, Index n, Index m, Index g, Index axis,
                       Dims dims, Device device = Device::cpu);
  void loaded() const;
  // What has its numbers and dims.
  static bool includes(const Spec& spec, const Spec& other);
  static void check(const Spec& spec);

 private:
  Shape part_shape(bool values) const;
};

// Strip column of a slot, whatever the index's width.
Index strip_at(const Values& index, Index slot);
// Error unless every chunk has each of its strips once, in the dtype that its size asks for.
void check_nmg_index(const NmgGeometry& geo, const Values& index);

}  // namespace sten
