// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/steps/steps.h"

#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"

namespace sten::kernels::cuda {

StepFunctions make_steps() { return step_functions<CudaGrid>(); }

}  // namespace sten::kernels::cuda
