// SPDX-License-Identifier: Apache-2.0
// masked: dense values beside a mask; pruned values are 0. The layout of training.
#pragma once
#include "libsten/core/tensor/tensor.h"

namespace sten {

struct Masked {
  static constexpr const char* name = "masked";
  static constexpr SpecDoc doc{
      "masked",
      "`values`, as dense, 0 where masked out; `mask` U8 `[ceil(N/8)]`: one bit per element, "
      "row-major, least significant bit first, spare bits 0"};
  static constexpr bool holds_any_pattern = true;
  Shape extents;
  Values values;             // row-major
  Array<std::uint8_t> mask;  // [ceil(N/8)], as Mask::bits

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("values", self.values, self.extents);
    f("mask", self.mask);
  }
  const Shape& shape() const { return extents; }
  Dense to_dense() const { return {extents, values}; }
  Mask stored() const { return {extents, mask}; }
  bool stored_on_device() const { return true; }
  bool unpacks_on_device() const { return true; }
  static bool packs_on_device(const Shape&, const Spec&) { return true; }
  static Masked pack(const Dense& x, const Mask& keep, const Spec& spec);
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
  void loaded() const;
};

// Whether the values are all elements, row-major, including pruned ones.
inline bool has_dense_values(const Tensor& x) { return x.is<Dense>() || x.is<Masked>(); }
inline bool has_dense_values(const Spec& layout) {
  return layout.is(Dense::name) || layout.is(Masked::name);
}

// Error unless `bits` is a mask of `n` elements with spare bits 0.
void check_mask_bits(const Array<std::uint8_t>& bits, Index n);

}  // namespace sten
