// SPDX-License-Identifier: Apache-2.0
// bitmask: one bit per element and the stored values in order. The smallest file for unstructured
// sparsity.
#pragma once
#include "libsten/core/tensor/dense.h"

namespace sten {

struct Bitmask {
  static constexpr const char* name = "bitmask";
  static constexpr SpecDoc doc{"bitmask",
                               "`mask` as in `masked`; `values [nnz]` in row-major order"};
  static constexpr bool holds_any_pattern = true;
  Shape extents;
  Array<std::uint8_t> mask;  // [ceil(N/8)], as Mask::bits
  Values values;             // [nnz], in row-major order of the positions

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("mask", self.mask);
    f("values", self.values);
  }
  const Shape& shape() const { return extents; }
  Dense to_dense() const;
  Mask stored() const { return {extents, mask}; }
  bool stored_on_device() const { return true; }
  bool unpacks_on_device() const { return true; }
  static bool packs_on_device(const Shape&, const Spec&) { return true; }
  static Bitmask pack(const Dense& x, const Mask& keep, const Spec& spec);
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
  void loaded() const;
};

}  // namespace sten
