// The tables of kernels/nmg_gemm.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/nmg_gemm.h"

namespace sten::kernels {

const NmgGemmTable* nmg_gemm_avx2();
const NmgGemmTable* nmg_gemm_avx512();

}  // namespace sten::kernels
