// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/libraries.h"

namespace sten::kernels::cuda {

const char* cusparse_name() { return nullptr; }
PreparedProduct* cusparse_csr(std::int64_t, std::int64_t, std::int64_t, const std::int64_t*,
                              const std::int32_t*, const float*, Stream) {
  return nullptr;
}

}  // namespace sten::kernels::cuda
