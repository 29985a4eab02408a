// The tables of kernels/elementwise.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/elementwise.h"

namespace sten::kernels {

const ElementwiseTable* elementwise_avx2();
const ElementwiseTable* elementwise_avx512();
// Only compress and expand of 1- and 2-byte elements, on CPUs with AVX-512 VBMI2; else nullptr.
const ElementwiseTable* elementwise_avx512_vbmi2();

}  // namespace sten::kernels
