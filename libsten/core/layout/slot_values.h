// SPDX-License-Identifier: Apache-2.0
// What layouts compute from their slots. `each` calls its argument with (slot, at) for slots of
// the values; at: the dense offset, or -1 in padding.
#pragma once
#include <algorithm>

#include "libsten/core/tensor/dense.h"
#include "libsten/core/tensor/mask.h"

namespace sten {

template <class Each>
Dense dense_of_slots(const Values& values, const Shape& extents, Each&& each) {
  Dense x = Dense::zeros(values.dtype(), extents);
  with_width(values.width(), [&]<class U>(U) {
    const auto from = values.as<U>();
    const auto to = x.values.template mutate<U>();
    each([&](Index slot, Index at) {
      if (at >= 0) to[at] = from[slot];
    });
  });
  return x;
}

// `each` calls in order.
template <class Each>
Mask mask_of_slots(const Shape& extents, Each&& each) {
  Mask mask = Mask::none(extents);
  std::uint8_t* bits = mask.bits.mutate();
  each([&](Index, Index at) { set_bit(bits, at); });
  return mask;
}

// The slots of a tensor on a device that unpacks it.
template <class L>
Mask slots_on_device(L ones) {
  Values one(DType::U8, ones.values.size());
  std::ranges::fill(one.mutate<std::uint8_t>(), std::uint8_t{1});
  ones.values = one.to(ones.values.device());
  return nonzero_mask(ones.to_dense());
}

}  // namespace sten
