// The tables of kernels/nmg_fit.h by ISA; nullptr where the build lacks it.
#pragma once
#include "kernels/nmg_fit.h"

namespace sten::kernels {

const NmgFitTable* nmg_fit_avx2();
const NmgFitTable* nmg_fit_avx512();

}  // namespace sten::kernels
