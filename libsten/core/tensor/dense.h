// SPDX-License-Identifier: Apache-2.0
// The dense layout: every element, row-major. Every other layout converts to and from dense.
#pragma once
#include <optional>

#include "libsten/core/base/spec.h"
#include "libsten/core/tensor/mask.h"
#include "libsten/core/tensor/values.h"

namespace sten {

class Occupancy;

struct Dense {
  static constexpr const char* name = "dense";
  static constexpr SpecDoc doc{"dense", "the tensor itself, under its own name"};
  Shape extents;
  Values values;  // row-major

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("values", self.values, self.extents);
  }
  static Dense zeros(DType dtype, Shape extents);
  // F32 from literals, for tests and examples.
  static Dense of(Shape extents, std::initializer_list<float> values);

  DType dtype() const { return values.dtype(); }
  Index size() const { return values.size(); }
  Device device() const { return values.device(); }
  Dense to(Device device) const { return {extents, values.to(device)}; }
  const Shape& shape() const { return extents; }
  Dense to_dense() const { return *this; }
  bool stored_on_device() const { return true; }
  bool unpacks_on_device() const { return true; }
  static bool packs_on_device(const Shape&, const Spec&) { return true; }
  // Copies x with 0 where the mask is not set.
  static Dense pack(const Dense& x, const Mask& keep, const Spec& spec = Spec("dense"));
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
};

// Rows [begin, end) along the first axis, on the CPU.
Dense rows_of(const Dense& x, Index begin, Index end);

// The elements with a nonzero bit: -0.0 and NaN count as nonzero.
Mask nonzero_mask(const Dense& x);

// Checks the arguments of pack(): Error (usage) unless x and the mask have the same extents, are on
// one device and have as many values and bits as the extents need.
void check_same_shape(const Dense& x, const Mask& keep);

}  // namespace sten
