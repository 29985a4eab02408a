// The table of kernels/pair_attention.h for matrix tiles; nullptr where the build lacks it.
#pragma once
#include "kernels/pair_attention.h"

namespace sten::kernels {

const PairAttentionTable* pair_attention_amx(std::int64_t lanes);

}  // namespace sten::kernels
