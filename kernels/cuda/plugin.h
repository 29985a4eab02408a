// SPDX-License-Identifier: Apache-2.0
// Symbols that libsten_cuda.so exports.
#pragma once
#include "kernels/cuda/backend.h"

namespace sten::kernels::cuda::plugin {

inline constexpr const char* file = "libsten_cuda.so";

using Version = const char*();
inline constexpr const char* version_name = "sten_cuda_version";

// nullptr without a usable device.
using Make = const Backend*();
inline constexpr const char* make_name = "sten_cuda_backend";

}  // namespace sten::kernels::cuda::plugin
