// SPDX-License-Identifier: Apache-2.0
#include "kernels/nmg_gemm.h"

#include <iterator>

namespace sten::kernels {

NmgRun* nmg_run(std::int64_t width) {
  for (std::size_t i = 0; i < std::size(nmg_widths); ++i)
    if (nmg_widths[i] == width) return nmg_gemm().run[i];
  return nullptr;
}

}  // namespace sten::kernels
