// The block products of kernels/nmg_gemm.h by ISA; nullptr where the build lacks it.
#pragma once
#include "kernels/nmg_gemm.h"

namespace sten::kernels {

NmgBlock* nmg_block_avx2();
NmgBlock* nmg_block_avx512();

}  // namespace sten::kernels
