// The formula of kernels/nmg_gemm.h.
#pragma once
#include "kernels/nmg_gemm.h"

namespace sten::kernels {

NmgBlock nmg_block_reference;

}  // namespace sten::kernels
