#include "kernels/block/nmg_prune.h"
#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"

namespace sten::kernels::cuda {

NmgFunctions make_nmg() { return nmg_functions<CudaGrid>(); }

}  // namespace sten::kernels::cuda
