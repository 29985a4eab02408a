// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/maps/maps.h"

#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"

namespace sten::kernels::cuda {

MapFunctions make_maps() { return map_functions<CudaGrid>(); }

}  // namespace sten::kernels::cuda
