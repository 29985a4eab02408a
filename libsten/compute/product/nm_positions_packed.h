// SPDX-License-Identifier: Apache-2.0
// Positions of n:m and n:m:g with axis 0, packed for sampled products.
#pragma once
#include <vector>

#include "kernels/nm_sample.h"
#include "libsten/core/base/array.h"
#include "libsten/core/base/shape.h"
#include "libsten/core/layout/nm.h"
#include "libsten/core/layout/nmg.h"

namespace sten {

// Strips sorted by slab, row block, pattern and column (kernels/nm_sample.h): 4 bytes per value and
// 2 per strip. With n = 1, two row blocks are merged to one of 2 m rows, whose strips have a value
// in each.
struct NmPositionsPacked {
  Index rows, cols, blocks;
  Index n, m;
  Index pattern_count;
  std::vector<std::uint16_t> patterns;  // [C, n]
  std::vector<Index> slabs;             // [slabs + 1]: start of each slab, and the end
  std::vector<std::uint16_t> counts;    // [slabs, blocks, C]
  Array<std::uint16_t> columns;         // [strips], relative to the start of the slab
  Array<std::uint32_t> slots;           // [strips, n]: index into the tensor's values, or none

  static constexpr std::uint32_t none = ~std::uint32_t{0};  // a padding row

  explicit NmPositionsPacked(const Nm& a);
  explicit NmPositionsPacked(const Nmg& a);

  Index slab_count() const { return std::ssize(slabs) - 1; }
  Index slab_cols(Index s) const { return slabs[s + 1] - slabs[s]; }
  // The first strip of a block in a slab; every block has one strip per column.
  Index first(Index slab, Index block) const {
    return slabs[slab] * blocks + block * slab_cols(slab);
  }
  // The strips of some blocks in a slab.
  kernels::NmStrips strips(Index slab, Index begin, Index end) const {
    return {patterns.data(),
            n,
            m,
            pattern_count,
            end - begin,
            counts.data() + (slab * blocks + begin) * pattern_count,
            columns.data() + first(slab, begin)};
  }

  // Whether n:m is supported efficiently: strips have several values, and slabs several strips of
  // each pattern.
  static bool takes(Index n, Index m);

 private:
  template <class Layout>
  void pack(const Layout& a, Index chunk);
};

}  // namespace sten
