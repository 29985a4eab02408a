// The panel products of kernels/csr.h by ISA; nullptr where the build lacks it.
#pragma once
#include "kernels/csr.h"

namespace sten::kernels {

CsrPanel* csr_panel_avx2();
CsrPanel* csr_panel_avx512();

}  // namespace sten::kernels
