// Reference of kernels/bf16_attention.h: attention in float32 (kernels/panels.h) on widened
// operands. ISAs without tiles run it too, each with its own float32 kernels.
#pragma once
#include "kernels/bf16_attention.h"

namespace sten::kernels {

// The table with the kernels of `isa` (reference, avx2 or avx512); nullptr unless has_isa(isa).
const Bf16AttentionTable* bf16_attention_by_floats(Isa isa, std::int64_t lanes);

}  // namespace sten::kernels
