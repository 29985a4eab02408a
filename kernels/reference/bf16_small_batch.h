// The reference kernels of kernels/bf16_small_batch.h.
#pragma once
#include "kernels/bf16_small_batch.h"

namespace sten::kernels {

const Bf16SmallBatchTable* bf16_small_batch_reference();

}  // namespace sten::kernels
