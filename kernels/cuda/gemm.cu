// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/gemm/gemm.h"

#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"
#include "kernels/cuda/libraries.h"

namespace sten::kernels::cuda {

GemmFunctions make_gemm() { return gemm_functions<CudaGrid>(cublas_products); }

}  // namespace sten::kernels::cuda
