// The tables of kernels/elementwise.h by ISA; nullptr where the build lacks it.
#pragma once
#include "kernels/elementwise.h"

namespace sten::kernels {

const ElementwiseTable* elementwise_avx2();
const ElementwiseTable* elementwise_avx512();

}  // namespace sten::kernels
