// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/masked.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/occupancy.h"

namespace sten {

Masked Masked::pack(const Dense& x, const Mask& keep, const Spec& spec) {
  return {x.extents, Dense::pack(x, keep, spec).values, keep.bits};
}

std::optional<Index> Masked::bytes(const Spec&, const Occupancy& of) {
  return of.elements() * of.width() + ceil_div(of.elements(), 8);
}

void Masked::loaded() const {
  check_mask_bits(mask, values.size());
  with_width(values.width(), [&]<class U>(U) {
    const auto v = values.as<U>();
    parallel_for(values.size(), mask_grain, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        if (v[i] != U{0} && !bit_at(mask.data(), i)) fail("element {} is masked out but not 0", i);
    });
  });
}

void check_mask_bits(const Array<std::uint8_t>& bits, Index n) {
  if (static_cast<Index>(bits.size()) != ceil_div(n, 8))
    fail("a mask of {} bytes does not fit {} elements", bits.size(), n);
  if (n % 8 && bits[n / 8] >> n % 8) fail("the mask has bits set beyond element {}", n - 1);
}

}  // namespace sten
