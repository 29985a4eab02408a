// SPDX-License-Identifier: Apache-2.0
#include "kernels/nmg_small_batch.h"

#include <algorithm>

namespace sten::kernels {
namespace {

template <std::int64_t columns>
void run(const NmgLanes& a, const float* x, std::int64_t ldx, float* y) {
  std::fill_n(y, columns * a.m * nmg_lanes, 0.0f);
  const std::uint8_t* column = a.columns;
  const float* value = a.values;
  for (std::int64_t r0 = 0; r0 < a.m; r0 += nmg_rows_at_once)
    for (std::int64_t chunk = 0; chunk < a.chunks; ++chunk)
      for (std::int64_t e = 0; e < a.entries; ++e)
        for (std::int64_t r = r0; r < std::min(a.m, r0 + nmg_rows_at_once); ++r)
          for (std::int64_t lane = 0; lane < nmg_lanes; ++lane, ++column, ++value)
            for (std::int64_t c = 0; c < columns; ++c)
              y[(c * a.m + r) * nmg_lanes + lane] +=
                  *value * x[c * ldx + chunk * a.chunk + *column];
}

constexpr NmgSmallBatchTable table{{run<1>, run<2>, run<3>, run<4>}};

}  // namespace

const NmgSmallBatchTable* nmg_small_batch_reference() { return &table; }

}  // namespace sten::kernels
