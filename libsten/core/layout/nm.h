// SPDX-License-Identifier: Apache-2.0
// n:m: n values in every block of m neighbours, with their positions.
#pragma once
#include "libsten/core/layout/nm_write.h"
#include "libsten/core/tensor/dense.h"
#include "libsten/core/tensor/matrix_view.h"

namespace sten {

class RowTiles;

// With axis 1, blocks run along rows (the reduction of a linear layer). With axis 0 they run along
// columns, and rows and columns are exchanged in the comments below.
struct Nm {
  static constexpr const char* name = "nm";
  static constexpr SpecDoc doc{
      "nm:n=2,m=4[,axis=1]",
      "`values [R, ceil(K/m), n]`; `pos` U8 `[R, bytes]`: `ceil(log2 m)` bits for each value, "
      "ascending within a block, least significant bit first; each row starts at a new byte. R is "
      "the number of rows, K the number of columns; batch dimensions come first"};
  static constexpr const char* own_sparsifier = "nm";
  static constexpr bool has_fillers = true;
  Shape extents;
  Index n = 1, m = 1, axis = 1;
  Dims dims;
  Values values;            // [batch..., R, ceil(K/m), n], ascending positions
  Array<std::uint8_t> pos;  // [batch..., R, bytes]: ceil(log2 m) bits each, LSB first

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("n", self.n);
    f("m", self.m);
    f("axis", self.axis, Index{1});
    f("dims", self.dims);
    f("values", self.values, self.values_shape());
    f("pos", self.pos, self.pos_shape());
  }
  const Shape& shape() const { return extents; }
  Dense to_dense() const;
  bool unpacks_on_device() const;
  bool stored_on_device() const { return unpacks_on_device(); }
  // All slots inside the tensor, since fillers equal kept zeros.
  Mask stored() const;
  double padding() const;
  // The dense offset of each slot of `values`, -1 in padding.
  std::vector<Index> offsets() const;
  // Fills a block that keeps fewer than n with its lowest free positions, value 0.
  static Nm pack(const Dense& x, const Mask& keep, const Spec& spec);
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
  // A tensor whose values and pos the caller writes. Error if the parameters do not fit the shape.
  static Nm unwritten(DType dtype, const Shape& shape, Index n, Index m, Index axis, Dims dims,
                      Device device = Device::cpu);
  // Writer of all rows, for m <= NmPositions::most. U: unsigned integer of the elements' width.
  template <class U>
  NmWriter<U> writer() {
    const Shape lines = values_shape(), bytes = pos_shape();
    return {n, m, lines[lines.size() - 2], bytes.back(), values.mutate<U>().data(), pos.mutate()};
  }
  Index row_bytes() const { return pos_shape().back(); }
  void loaded() const;
  // Whether `other`, n:m or n:m:g, has the same m, axis and dims and at most the same n.
  static bool includes(const Spec& spec, const Spec& other);
  static void check(const Spec& spec);

 private:
  MatrixView view() const { return MatrixView::of(extents, dims, axis == 0); }
  Shape values_shape() const;
  Shape pos_shape() const;
  struct Slot {
    Index index, at;  // at: its dense offset, -1 in padding
    Index line, block, position;
    Index before;  // the previous position in the block, or -1
  };
  template <class F>
  void for_each_slot(F&& f) const;
  template <class F>
  void for_each_tile(const RowTiles& pieces, F&& f) const;
  template <class U>
  bool pack_bit_by_bit(const U* x, const std::uint8_t* bits);
  void refuse(const std::uint8_t* bits, const Spec& spec) const;
};

}  // namespace sten
