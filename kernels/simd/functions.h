// The tables of kernels/functions.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/functions.h"

namespace sten::kernels {

const FunctionsTable* functions_avx2();
const FunctionsTable* functions_avx512();

}  // namespace sten::kernels
