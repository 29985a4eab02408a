// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/nm.h"

#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"

namespace sten::kernels::cuda {

NmFunctions make_nm() { return nm_functions<CudaGrid>(); }

}  // namespace sten::kernels::cuda
