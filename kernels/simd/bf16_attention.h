// The table of kernels/bf16_attention.h for matrix tiles; nullptr if the build lacks it.
#pragma once
#include "kernels/bf16_attention.h"

namespace sten::kernels {

const Bf16AttentionTable* bf16_attention_amx(std::int64_t lanes);

}  // namespace sten::kernels
