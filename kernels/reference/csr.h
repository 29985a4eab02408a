// The reference kernels of kernels/csr.h.
#pragma once
#include "kernels/csr.h"

namespace sten::kernels {

const CsrTable* csr_gemm_reference();

}  // namespace sten::kernels
