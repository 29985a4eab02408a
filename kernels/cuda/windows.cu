// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/windows/windows.h"

#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"

namespace sten::kernels::cuda {

WindowFunctions make_windows() { return window_functions<CudaGrid>(); }

}  // namespace sten::kernels::cuda
