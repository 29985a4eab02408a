// The tables of kernels/interleaved.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/interleaved.h"

namespace sten::kernels {

const InterleavedTable* interleaved_avx2();
const InterleavedTable* interleaved_avx512();
const InterleavedTable* interleaved_avx512_bf16();

}  // namespace sten::kernels
