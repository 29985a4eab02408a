// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/rows/rows.h"

#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"

namespace sten::kernels::cuda {

RowFunctions make_rows() { return row_functions<CudaGrid>(); }

}  // namespace sten::kernels::cuda
