// SPDX-License-Identifier: Apache-2.0
// Separate from nmg.cu because these kernels take long to compile.
#include "kernels/block/nmg/nmg_small_pattern_count.h"
#include "kernels/cuda/cuda_grid.cuh"

namespace sten::kernels {

template void nmg_prune_small_pattern_count(cuda::CudaGrid&, const NmgFormat&, const BlockMatrix&,
                                            const void*, FloatKind, const NmgParts&,
                                            const NmgLeft&);

}  // namespace sten::kernels
