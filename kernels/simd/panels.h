// The tables of kernels/panels.h by ISA; nullptr where the build lacks it.
#pragma once
#include "kernels/panels.h"

namespace sten::kernels {

const PanelsTable* panels_avx2();
const PanelsTable* panels_avx512();

}  // namespace sten::kernels
