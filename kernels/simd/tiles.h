// The tables of kernels/tiles.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/tiles.h"

namespace sten::kernels {

const TilesTable* tiles_avx2();
const TilesTable* tiles_avx512();
const TilesTable* tiles_avx512_bf16();
const TilesTable* tiles_amx();

}  // namespace sten::kernels
