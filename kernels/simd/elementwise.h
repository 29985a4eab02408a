// The tables of kernels/elementwise.h by ISA; nullptr where the build lacks it.
#pragma once
#include "kernels/elementwise.h"

namespace sten::kernels {

const ElementwiseTable* elementwise_avx2();
const ElementwiseTable* elementwise_avx512();
// Replaces compress and expand of elements of 1 and 2 bytes in a table for AVX-512.
void pack_narrow_vbmi2(ElementwiseTable& table);

}  // namespace sten::kernels
