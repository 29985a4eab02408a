// SPDX-License-Identifier: Apache-2.0
// Iteration over the slots of n:m:g.
#pragma once
#include <algorithm>

#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/nmg_geometry.h"
#include "libsten/core/layout/nmg_patterns.h"

namespace sten {

// The strip (column in the chunk) of a slot, for either index dtype.
Index strip_at(const Values& index, Index slot);
// Error unless `index` has the dtype of index_dtype() and every chunk has each strip once.
void check_nmg_index(const NmgGeometry& geo, const Values& index);

// Units per range of a parallel loop: about mask_grain elements, with `each` per position.
inline Index nmg_grain(const NmgGeometry& geo, Index each = 1) {
  return std::max<Index>(1, mask_grain / (geo.strips * geo.m * each));
}

// The dense offset of row p of strip s of a unit, -1 in padding.
inline Index nmg_offset(const NmgGeometry& geo, const NmgUnit& unit, Index p, Index s) {
  if (p >= unit.rows || s >= unit.cols) return -1;
  return unit.offset + p * geo.view.row_stride + s * geo.view.col_stride;
}

// Calls f(slot of the values, dense offset or -1 in padding, unit), in parallel over units.
template <class F>
void for_each_nmg_slot(const NmgGeometry& geo, const Values& index, F&& f, Index each = 1) {
  const auto table = PatternTable::get(geo.n, geo.m);
  parallel_for(geo.units(), nmg_grain(geo, each), [&](Index begin, Index end) {
    for (Index u = begin; u < end; ++u) {
      const NmgUnit unit(geo, u);
      for (Index slot = u * geo.strips, p = 0; p < geo.patterns; ++p)
        for (Index j = 0; j < geo.g; ++j, ++slot) {
          const Index s = strip_at(index, slot);
          for (Index i = 0; i < geo.n; ++i)
            f(slot * geo.n + i, nmg_offset(geo, unit, (*table)[p][i], s), unit);
        }
    }
  });
}

}  // namespace sten
