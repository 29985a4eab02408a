// Which kernels multiply bfloat16 here.
#pragma once
#include "kernels/tiles.h"

namespace sten {

// Those of active_isa(); but those of AVX-512 in place of the dot products of AVX-512 BF16, which some
// processors do at half the rate of float32, unless STEN_ISA names these or they are faster by a fifth:
// measured once in a process, for some microseconds.
const kernels::TilesTable& bf16_kernels();

}  // namespace sten
