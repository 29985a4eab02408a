// The tables of kernels/pairs.h by ISA; nullptr where the build lacks it.
#pragma once
#include "kernels/pairs.h"

namespace sten::kernels {

const PairsTable* pairs_avx2();
const PairsTable* pairs_avx512();
const PairsTable* pairs_avx512_bf16();

}  // namespace sten::kernels
