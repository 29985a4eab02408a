// The tables of kernels/nmg_exact.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/nmg_exact.h"

namespace sten::kernels {

const NmgExactTable* nmg_exact_avx2();
const NmgExactTable* nmg_exact_avx512();

}  // namespace sten::kernels
