#include "kernels/block/gemm/gemm.h"

#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"

namespace sten::kernels::cuda {

GemmFunctions make_gemm() { return gemm_functions<CudaGrid>(); }

}  // namespace sten::kernels::cuda
