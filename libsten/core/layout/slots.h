// SPDX-License-Identifier: Apache-2.0
// Base of layouts whose stored positions follow from the tensor's shape and the layout's
// parameters, such as a band or the blocks on the diagonal. Stores one value per position.
//
//   struct Banded : Slots<Banded> {
//     static constexpr const char* name = "banded";
//     ...parameters...
//     static void parts(auto& self, auto&& f);  // with f("values", self.values, self.slots())
//     Shape slots() const;                      // shape of the values; Error if invalid
//     void each(auto&& f) const;                // f(offset in the tensor, slot) for every position
//   };
//
// Slots without a position are 0. All positions count as stored: empty slots cannot be
// distinguished from kept zeros.
#pragma once
#include <cassert>

#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/slot_values.h"
#include "libsten/core/tensor/layout.h"

namespace sten {

template <class L>
struct Slots {
  static constexpr bool has_fillers = true;
  Shape extents;
  Values values;  // in the shape slots()

  const Shape& shape() const { return extents; }
  Dense to_dense() const;
  Mask stored() const;
  // Slots without a position per slot with a position.
  double padding() const;
  // Error if a kept position has no slot.
  static L pack(const Dense& x, const Mask& keep, const Spec& spec);
  // Error if a slot without a position is not 0.
  void loaded() const;

 private:
  // Calls f(offset, slot). Does nothing for an empty tensor, whose other extents may be huge.
  template <class F>
  void visit(F&& f) const {
    [[maybe_unused]] const Index size = size_of(extents);
    if (size == 0) return;
    static_cast<const L&>(*this).each([&](Index i, Index slot) {
      assert(i >= 0 && i < size && slot >= 0 && slot < values.size());
      f(i, slot);
    });
  }
};

template <class L>
Dense Slots<L>::to_dense() const {
  return dense_of_slots(values, extents,
                        [&](auto&& f) { visit([&](Index i, Index slot) { f(slot, i); }); });
}

template <class L>
Mask Slots<L>::stored() const {
  return mask_of_slots(extents, [&](auto&& f) { visit([&](Index i, Index slot) { f(slot, i); }); });
}

template <class L>
double Slots<L>::padding() const {
  Index used = 0;
  visit([&](Index, Index) { ++used; });
  return used ? static_cast<double>(values.size()) / static_cast<double>(used) - 1 : 0;
}

template <class L>
L Slots<L>::pack(const Dense& x, const Mask& keep, const Spec& spec) {
  check_same_shape(x, keep);
  L l = with_parameters<L>(x.extents, spec);
  const Index slots = checked_size(l.slots());
  constexpr Index most_empty = Index{1} << 24;
  if (x.size() == 0 && slots > most_empty)
    fail("{}: an empty tensor would need {} slots", spec.str(), slots);
  l.values = Values(x.dtype(), slots);
  Index held = 0;
  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = x.values.as<U>();
    const auto to = l.values.template mutate<U>();
    l.visit([&](Index i, Index slot) {
      if (!keep[i]) return;
      to[slot] = from[i];
      ++held;
    });
  });
  if (const Index kept = keep.count(); held != kept)
    fail("{} has no slot for {} of the {} kept positions", spec.str(), kept - held, kept);
  return l;
}

template <class L>
void Slots<L>::loaded() const {
  Mask used = Mask::none({values.size()});
  std::uint8_t* bits = used.bits.mutate();
  visit([&](Index, Index slot) { set_bit(bits, slot); });
  with_width(values.width(), [&]<class U>(U) {
    const auto v = values.as<U>();
    for (Index slot = 0; slot < values.size(); ++slot)
      if (v[slot] != U{0} && !bit_at(bits, slot))
        fail("slot {} is beyond the tensor but not 0", slot);
  });
}

}  // namespace sten
