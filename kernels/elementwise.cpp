// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

namespace sten::kernels {

void drain_histogram(std::uint32_t* counts, std::int32_t count, std::int64_t* totals) {
  for (std::int64_t b = 0; b < count; ++b)
    for (std::int64_t i = b * histogram_lanes; i < (b + 1) * histogram_lanes; ++i) {
      totals[b] += counts[i];
      counts[i] = 0;
    }
}

}  // namespace sten::kernels
