// The tables of kernels/panels.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/panels.h"

namespace sten::kernels {

const PanelsTable* panels_avx2(std::int64_t lanes);
const PanelsTable* panels_avx512(std::int64_t lanes);

}  // namespace sten::kernels
