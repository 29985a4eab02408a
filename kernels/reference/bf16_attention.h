// Attention in pairs by that in float32 (kernels/panels.h): what defines the result, and what
// processors without tiles run, each with its own kernels.
#pragma once
#include "kernels/bf16_attention.h"

namespace sten::kernels {

// nullptr unless has_isa(isa). isa: reference, avx2 or avx512.
const Bf16AttentionTable* bf16_attention_by_floats(Isa isa, std::int64_t lanes);

}  // namespace sten::kernels
