// The tables of kernels/nm_select.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/nm_select.h"

namespace sten::kernels {

const NmSelectTable* nm_select_avx2();
const NmSelectTable* nm_select_avx512();

}  // namespace sten::kernels
