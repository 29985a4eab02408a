// SPDX-License-Identifier: Apache-2.0
// bcsr: compressed sparse rows of dense blocks. Stores the h x w blocks that keep any element.
#pragma once
#include <optional>

#include "libsten/core/layout/compressed.h"

namespace sten {

// Blocks start at multiples of h and w of the matrix view; the block rows of all batches follow
// each other. Blocks at an edge are padded with zeros.
struct Bcsr {
  static constexpr const char* name = "bcsr";
  static constexpr SpecDoc doc{
      "bcsr:h=4,w=4",
      "`ptr` I64 `[block rows + 1]`; `col` I32 `[b]`, block column, ascending within a block row; "
      "`values [b, h, w]`: every block of h rows and w columns that keeps any element; `mask` U8 "
      "`[ceil(b*h*w/8)]`, only if such a block holds pruned positions: one bit per value, 1 where "
      "it is kept. With batch dimensions, the block rows of all batches in turn"};
  static constexpr const char* own_sparsifier = "block-magnitude";
  static constexpr bool holds_any_pattern = true;
  Shape extents;
  Index h = 1, w = 1;
  Dims dims;
  Array<std::int64_t> ptr;  // [batches * block rows + 1]; row l has blocks ptr[l] to ptr[l + 1]
  Array<std::int32_t> col;  // [b], block column, ascending within a block row
  Values values;            // [b, h, w], 0 where pruned or beyond the edge
  // [ceil(b * h * w / 8)], one bit per value, like Mask::bits: the stored positions. Without it,
  // all elements of the blocks inside the tensor are stored.
  std::optional<Array<std::uint8_t>> mask;

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("h", self.h);
    f("w", self.w);
    f("dims", self.dims);
    f("ptr", self.ptr);
    f("col", self.col);
    f("values", self.values, self.values_shape());
    f("mask", self.mask);
  }
  const Shape& shape() const { return extents; }
  Dense to_dense() const;
  Mask stored() const;
  // Stored elements outside the tensor per stored element inside.
  double padding() const;
  static Bcsr pack(const Dense& x, const Mask& keep, const Spec& spec);
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
  void loaded() const;
  // Error unless h and w are at least 1 and a block has at most 65536 elements.
  static void check(const Spec& spec);

 private:
  Shape values_shape() const;
};

// Converts directly, with the same stored positions. The matrix view is that of x: Error (usage) if
// `spec` has another dims=.
Bcsr to_bcsr(const Csr& x, const Spec& spec);
Csr to_csr(const Bcsr& x);

}  // namespace sten
