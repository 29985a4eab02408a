// The reference kernels of kernels/nmg_gemm.h.
#pragma once
#include "kernels/nmg_gemm.h"

namespace sten::kernels {

const NmgGemmTable* nmg_gemm_reference();

}  // namespace sten::kernels
