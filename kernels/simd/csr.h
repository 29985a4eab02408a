// The tables of kernels/csr.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/csr.h"

namespace sten::kernels {

const CsrTable* csr_gemm_avx2();
const CsrTable* csr_gemm_avx512();

}  // namespace sten::kernels
