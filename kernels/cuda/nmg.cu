// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/nmg/nmg_prune.h"
#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"

namespace sten::kernels {

extern template void nmg_prune_small_pattern_count(cuda::CudaGrid&, const NmgFormat&,
                                                   const BlockMatrix&, const void*, FloatKind,
                                                   const NmgParts&, const NmgLeft&);

}  // namespace sten::kernels

namespace sten::kernels::cuda {

NmgFunctions make_nmg() { return nmg_functions<CudaGrid>(); }

}  // namespace sten::kernels::cuda
