// The tables of kernels/bf16_few.h by ISA; nullptr where the build or the CPU lacks it.
#pragma once
#include "kernels/bf16_few.h"

namespace sten::kernels {

const Bf16FewTable* bf16_few_avx2();
const Bf16FewTable* bf16_few_avx512();
const Bf16FewTable* bf16_few_avx512_vbmi2();
const Bf16FewTable* bf16_few_amx();

}  // namespace sten::kernels
