// The tables of kernels/elementwise.h by ISA; nullptr where the build lacks it.
#pragma once
#include "kernels/elementwise.h"

namespace sten::kernels {

const ElementwiseTable* elementwise_avx2();
const ElementwiseTable* elementwise_avx512();
// compress and expand of elements of 1 and 2 bytes alone, where the CPU has AVX-512 and VBMI2; else
// nullptr.
const ElementwiseTable* elementwise_avx512_vbmi2();

}  // namespace sten::kernels
