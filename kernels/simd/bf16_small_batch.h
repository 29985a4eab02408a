// The tables of kernels/bf16_small_batch.h by ISA; nullptr if the build or the CPU lacks it.
#pragma once
#include "kernels/bf16_small_batch.h"

namespace sten::kernels {

const Bf16SmallBatchTable* bf16_small_batch_avx2();
const Bf16SmallBatchTable* bf16_small_batch_avx512();
const Bf16SmallBatchTable* bf16_small_batch_avx512_vbmi2();
const Bf16SmallBatchTable* bf16_small_batch_amx();

}  // namespace sten::kernels
