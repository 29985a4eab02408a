// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nmg_slots.h"

#include <vector>

#include "libsten/core/base/error.h"

namespace sten {

Index strip_at(const Values& index, Index slot) {
  // Called for each slot, where as<U>() would check the type each time.
  const std::byte* data = index.bytes().data();
  return index.dtype() == DType::U8 ? Index{reinterpret_cast<const std::uint8_t*>(data)[slot]}
                                    : Index{reinterpret_cast<const std::uint16_t*>(data)[slot]};
}

void check_nmg_index(const NmgGeometry& geo, const Values& index) {
  const DType expected = geo.index_dtype();
  if (index.dtype() != expected)
    fail("part 'index' is {}, but a chunk of {} strips needs {}", name_of(index.dtype()),
         geo.strips, name_of(expected));
  parallel_for(geo.units(), nmg_grain(geo), [&](Index begin, Index end) {
    std::vector<bool> seen(geo.strips);
    for (Index u = begin; u < end; ++u) {
      seen.assign(geo.strips, false);
      for (Index slot = u * geo.strips; slot < (u + 1) * geo.strips; ++slot) {
        const Index s = strip_at(index, slot);
        if (s >= geo.strips)
          fail("chunk {}: index {} is out of range for {} strips", u, s, geo.strips);
        if (seen[s]) fail("chunk {}: strip {} occurs twice", u, s);
        seen[s] = true;
      }
    }
  });
}

}  // namespace sten
