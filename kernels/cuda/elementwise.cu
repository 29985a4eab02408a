// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/elementwise/elementwise.h"

#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"

namespace sten::kernels::cuda {

ElementwiseFunctions make_elementwise() { return elementwise_functions<CudaGrid>(); }

}  // namespace sten::kernels::cuda
