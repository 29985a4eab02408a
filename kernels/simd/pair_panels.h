// The tables of kernels/pair_panels.h by ISA; nullptr where the build lacks it.
#pragma once
#include "kernels/pair_panels.h"

namespace sten::kernels {

const PairPanelsTable* pair_panels_avx2(std::int64_t lanes);
const PairPanelsTable* pair_panels_avx512(std::int64_t lanes);
const PairPanelsTable* pair_panels_avx512_bf16(std::int64_t lanes);

}  // namespace sten::kernels
